"""AGH: the hasher contract, its functions against the graph that is written out, its cuts against minimisation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import AGH, LSH
from rankhash.errors import InvalidInputError
from rankhash.hashers import agh
from rankhash.hashers._features import anchor_graph
from rankhash.vectors import batches

from .inputs import X
from .learners import average_precision_of_neighbors
from .pairs import KernelContract

VARIANTS = [AGH(9, n_anchors=25, random_state=0), AGH(13, n_anchors=25, n_nearest=2, layers=2, random_state=0)]


class TestContract(KernelContract):
    @pytest.fixture(params=VARIANTS, ids=["one layer", "two layers"])
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([AGH(2, n_anchors=9)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(5, 6))[rng.integers(0, 5, 200)] + 0.7 * rng.normal(size=(200, 6))).astype(np.float32)


def weights_of(hasher, points):
    """Z, written out from its definition."""
    squares = cdist(points, hasher.anchors_, "sqeuclidean")
    order = np.argsort(squares, axis=1)
    z = np.zeros(squares.shape)
    for row in range(len(points)):
        near = order[row, : hasher.n_nearest]
        z[row, near] = np.exp(-(float(hasher.scale_[0]) ** 2) * squares[row, near])
    return z / z.sum(axis=1, keepdims=True)


def graph_of(z):
    return z / z.sum(axis=0) @ z.T


@pytest.mark.parametrize("n_nearest", [2, 3, 5])
def test_functions_are_the_eigenvectors_of_the_graph(points, n_nearest):
    hasher = AGH(6, n_anchors=20, n_nearest=n_nearest, random_state=0).fit(points)
    z = weights_of(hasher, points)
    graph = graph_of(z)
    np.testing.assert_allclose(graph.sum(axis=1), 1)
    values = np.sort(np.linalg.eigvalsh(graph))[::-1]
    functions = z @ hasher.projections_.T
    found = (functions * (graph @ functions)).sum(axis=0) / (functions**2).sum(axis=0)
    np.testing.assert_allclose(found, values[values < 1 - 1e-3][:6], atol=1e-4)
    np.testing.assert_allclose(graph @ functions, functions * found, atol=1e-3)
    np.testing.assert_allclose(functions.T @ functions / 200, np.eye(6), atol=1e-3)
    np.testing.assert_array_equal(hasher.transform(points), (functions > 0).astype(np.uint8))


def test_the_width_is_the_mean_distance_to_the_last_of_the_nearest_anchors(points):
    hasher = AGH(4, n_anchors=20, n_nearest=3, random_state=0).fit(points)
    distances = np.sort(cdist(points, hasher.anchors_), axis=1)[:, 2]
    np.testing.assert_allclose(hasher.scale_[0], 1 / distances.mean(), rtol=1e-4)


def test_second_cuts_make_the_graphs_cut_least(points):
    hasher = AGH(8, n_anchors=20, layers=2, random_state=0).fit(points)
    z = weights_of(hasher, points)
    laplacian = np.eye(200) - graph_of(z)
    for values, cuts in zip((z @ hasher.projections_.T).T, hasher.cuts_, strict=True):

        def cost(cuts, values=values):
            f = np.where(values > 0, values - cuts[0], cuts[1] - values)
            return f @ laplacian @ f

        balanced = {"type": "eq", "fun": lambda c, v=values: np.where(v > 0, v - c[0], c[1] - v).sum()}
        best = minimize(cost, [0.1, -0.1], constraints=balanced, method="SLSQP", options={"ftol": 1e-12})
        assert abs(balanced["fun"](cuts)) < 1e-2
        np.testing.assert_allclose(cuts, best.x, atol=2e-3)


def test_two_layers_have_the_first_bits_of_one_and_then_the_second_bits(points):
    one, two = (AGH(n, n_anchors=20, layers=n // 4, random_state=0).fit(points) for n in (4, 8))
    np.testing.assert_array_equal(two.transform(points)[:, :4], one.transform(points))
    values = weights_of(two, points) @ two.projections_.T
    above, below = two.cuts_.T
    second = np.where(values > 0, values > above, values < below)
    np.testing.assert_array_equal(two.transform(points)[:, 4:], second)
    odd = AGH(7, n_anchors=20, layers=2, random_state=0).fit(points)
    np.testing.assert_array_equal(odd.transform(points), two.transform(points)[:, :7])


def test_blocks_give_the_same_functions(points, monkeypatch):
    whole = AGH(6, n_anchors=20, layers=2, random_state=0).fit(points)
    joined = anchor_graph.join(batches(points), whole.anchors_, whole.scale_, 3)
    joined = anchor_graph.Joined(joined.places, anchor_graph.anchor_weights(joined.weights))
    functions = anchor_graph.graph_functions(joined, 20, 3)
    cuts = agh.second_cuts(joined, functions)
    monkeypatch.setattr("rankhash.hashers._blocks.BLOCK_FLOATS", 24 * 7)
    np.testing.assert_allclose(anchor_graph.graph_functions(joined, 20, 3), functions, rtol=1e-6)
    np.testing.assert_allclose(agh.second_cuts(joined, functions), cuts, rtol=1e-6)


def test_short_codes_find_neighbours_better_than_random_hyperplanes():
    digits = load_digits().data[:1200]
    for hasher in (AGH(16, n_anchors=150, random_state=0), AGH(16, n_anchors=150, layers=2, random_state=0)):
        learned = average_precision_of_neighbors(hasher, digits)
        assert learned > average_precision_of_neighbors(LSH(16, center=True, random_state=0), digits) + 0.05


def test_duplicates_and_a_far_outlier_are_no_problem(points):
    rows = np.repeat(points, 3, axis=0)
    rows[0] = 1e6
    hasher = AGH(4, n_anchors=20, random_state=0).fit(rows)
    assert np.isfinite(hasher.projections_).all()
    assert np.isfinite(hasher.score_tables(rows)).all()


def test_more_bits_than_the_graph_has_functions_are_refused():
    with pytest.raises(InvalidInputError, match=r"has .* functions that separate vectors, but 40 are needed"):
        AGH(40, n_anchors=30, random_state=0).fit(X)


def test_labels_and_similarity_are_ignored():
    plain = AGH(4, n_anchors=20, random_state=0).fit(X)
    labelled = AGH(4, n_anchors=20, random_state=0).fit(X, np.arange(len(X)), similarity=object())
    assert labelled.fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("parameter", "value"), [("n_anchors", 1), ("n_nearest", 0), ("n_nearest", 301), ("layers", 3)]
)
def test_a_wrong_parameter_gets_one_sentence(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be an integer from .*, got {value}"):
        AGH(**{parameter: value}).fit(X)

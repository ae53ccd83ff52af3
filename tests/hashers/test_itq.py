"""ITQ: the hasher contract, its rotation, its loss, and its parameters."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles import average_precision, hamming, linear_scores, winners
from rankhash import ITQ, LSH
from rankhash.errors import InvalidInputError
from rankhash.hashers._features import rotation as itq

from .contract import HasherContract
from .inputs import X

VARIANTS = [
    ITQ(10, n_iterations=5, random_state=0),
    ITQ(65, n_iterations=5, random_state=0),
    ITQ(7, max_points=40, random_state=0),
]


class TestContract(HasherContract):
    history_names = frozenset({"step", "loss"})

    @pytest.fixture(params=VARIANTS, ids=str)
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([ITQ(8)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def draw(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


@pytest.mark.parametrize(("n_symbols", "d"), [(1, 1), (1, 9), (5, 9), (9, 9), (63, 65), (64, 64)])
def test_projections_are_orthonormal_up_to_as_many_bits_as_dimensions(n_symbols, d):
    rows = ITQ(n_symbols, random_state=0).fit(draw(200, d)).projections_.astype(np.float64)
    np.testing.assert_allclose(rows @ rows.T, np.eye(n_symbols), atol=1e-5)


@pytest.mark.parametrize("n_symbols", [9, 16, 65])
def test_with_more_bits_than_dimensions_the_columns_are_orthonormal(n_symbols):
    rows = ITQ(n_symbols, random_state=0).fit(draw(200, 8)).projections_.astype(np.float64)
    assert rows.shape == (n_symbols, 8)
    np.testing.assert_allclose(rows.T @ rows, np.eye(8), atol=1e-5)


@pytest.mark.parametrize("n", [400, 20])
def test_codes_do_not_depend_on_the_signs_that_a_processor_gives_the_axes(n, monkeypatch):
    points = np.random.default_rng(0).normal(size=(n, 30)).astype(np.float32)
    svd, eigh = np.linalg.svd, np.linalg.eigh
    expected = ITQ(6, random_state=0).fit(points).encode(points)
    signs = np.where(np.arange(30) % 2, -1.0, 1.0)

    def mirrored_svd(rows, **options):
        left, spread, axes = svd(rows, **options)
        return (left, spread, axes * signs[:, None]) if axes.shape == (30, 30) else (left, spread, axes)

    def mirrored_eigh(scatter):
        variances, columns = eigh(scatter)
        return variances, columns * signs

    monkeypatch.setattr(np.linalg, "svd", mirrored_svd)
    monkeypatch.setattr(np.linalg, "eigh", mirrored_eigh)
    np.testing.assert_array_equal(ITQ(6, random_state=0).fit(points).encode(points), expected)


def test_projections_span_the_principal_axes():
    data = draw(300, 12)
    rows = ITQ(4, random_state=0).fit(data).projections_.astype(np.float64)
    axes = PCA(4).fit(data).components_
    np.testing.assert_allclose(rows.T @ rows, axes.T @ axes, atol=1e-5)


@pytest.mark.parametrize(("n_symbols", "d"), [(6, 12), (12, 12), (20, 12)])
def test_the_loss_never_rises(n_symbols, d):
    losses = ITQ(n_symbols, random_state=0).fit(draw(500, d)).history_["loss"]
    assert len(losses) == 50
    assert (np.diff(losses) <= 1e-6 * losses[0]).all()
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("n_symbols", [5, 9])
def test_the_loss_is_the_distance_of_signs_and_rotated_components(n_symbols):
    rng = np.random.default_rng(0)
    components = rng.normal(size=(300, 5)).astype(np.float32)
    start = np.linalg.qr(rng.normal(size=(n_symbols, n_symbols)))[0][:5]
    signs = np.where(components @ start >= 0, 1, -1)
    rotation, losses = itq.improve_rotation(components, start, 1)
    np.testing.assert_allclose(losses[0], ((signs - components @ rotation) ** 2).sum(axis=1).mean(), rtol=1e-5)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(5), atol=1e-12)
    for _ in range(50):
        other = np.linalg.qr(rng.normal(size=(n_symbols, n_symbols)))[0][:5]
        assert ((signs - components @ other) ** 2).sum(axis=1).mean() >= losses[0]


def test_the_axes_of_a_cube_are_found_from_nearby():
    """For vectors at the corners of a rotated cube only the cube's own axes make the loss 0."""
    rng = np.random.default_rng(0)
    corners = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    start = np.linalg.qr(turn.T + 0.2 * rng.normal(size=(3, 3)))[0]
    rotation, losses = itq.improve_rotation((corners @ turn).astype(np.float32), start, 20)
    np.testing.assert_allclose(np.abs(turn @ rotation).max(axis=1), 1, atol=1e-6)
    assert losses[0] < 1.5
    assert abs(losses[-1]) < 1e-5


def test_symbols_are_those_of_the_slow_twin():
    rows = draw(70, 9).astype(np.float32)
    hasher = ITQ(14, random_state=0).fit(rows)
    scores = linear_scores(rows, hasher.projections_, None, hasher.center_, 14, 2)
    expected, lead = winners(scores)
    clear = lead > 1e-5
    np.testing.assert_array_equal(hasher.transform(rows)[clear], expected[clear])
    assert clear.mean() > 0.99


def test_a_sample_gives_nearly_the_rotation_of_all_vectors():
    data = draw(4000, 6)
    whole, sample = (ITQ(6, max_points=most, random_state=0).fit(data) for most in (4000, 2000))
    assert len(sample.history_["loss"]) == 50
    assert abs(sample.history_["loss"][-1] - whole.history_["loss"][-1]) < 0.05 * whole.history_["loss"][-1]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_fewer_vectors_than_bits_are_no_problem(n):
    data = draw(n, 20)
    hasher = ITQ(16, random_state=0).fit(data)
    assert np.isfinite(hasher.projections_).all()
    assert len(np.unique(hasher.encode(data), axis=0)) == n


@pytest.mark.parametrize("factor", [2.0**-60, 2.0**60])
def test_the_scale_of_the_vectors_does_not_matter(factor):
    factor = np.float32(factor)
    plain, scaled = ITQ(10, random_state=0).fit(X), ITQ(10, random_state=0).fit(X * factor)
    np.testing.assert_array_equal(scaled.encode(X * factor), plain.encode(X))


@pytest.mark.parametrize("rows", [np.zeros((9, 4)), np.full((9, 4), 7.25), np.full((2, 4), 3e38)])
def test_constant_vectors_have_one_code(rows):
    hasher = ITQ(6, random_state=0).fit(rows)
    assert np.isfinite(hasher.projections_).all()
    assert len(np.unique(hasher.encode(rows), axis=0)) == 1


def test_huge_outliers_leave_no_nan():
    rows = X.copy()
    rows[3] = [3e38, -3e38] * 6
    assert np.isfinite(ITQ(10, random_state=0).fit(rows).projections_).all()


@pytest.mark.parametrize("n_symbols", [16, 96])
def test_codes_find_neighbours_better_than_random_hyperplanes(n_symbols):
    digits = load_digits().data[:900]
    database, queries = digits[:600], digits[600:]
    distances = np.linalg.norm(queries[:, None] - database, axis=2)
    relevant = distances <= np.quantile(distances, 0.05)

    def score(hasher):
        hasher.fit(database)
        return average_precision(hamming(hasher.transform(queries), hasher.transform(database)), relevant)

    assert score(ITQ(n_symbols, random_state=0)) > score(LSH(n_symbols, center=True, random_state=0)) + 0.05


def test_labels_and_similarity_are_ignored():
    plain = ITQ(8, random_state=0).fit(X)
    assert ITQ(8, random_state=0).fit(X, np.arange(len(X)), similarity=object()).fingerprint == plain.fingerprint


@pytest.mark.parametrize(("parameter", "value"), [("n_iterations", 0), ("n_iterations", 2.5), ("max_points", 0)])
def test_counts_must_be_counts(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be an integer from 1 to .*, got {value}"):
        ITQ(**{parameter: value}).fit(X)

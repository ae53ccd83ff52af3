"""MLH: the hasher contract, loss-adjusted inference against exhaustive search, its bound, and its parameters."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

import learning_oracles
from oracles import linear_scores, winners
from rankhash import LSH, MLH, SpectralHashing, _files, load_hasher
from rankhash.errors import FileFormatError, InvalidInputError
from rankhash.hashers import _minimal_loss, mlh

from .inputs import X
from .learners import average_precision_of_neighbors
from .pairs import LinearCodes, NeighborContract, Y

SMALL = {"n_iterations": 6, "batch_size": 60, "n_neighbors": 8, "random_state": 0}
VARIANTS = [MLH(9, **SMALL), MLH(65, rho=None, lam=1.0, center=False, similar_share=0.3, momentum=0.5, **SMALL)]


class TestContract(LinearCodes, NeighborContract):
    @pytest.fixture(params=VARIANTS, ids=["validated", "fixed"])
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([MLH(8, n_iterations=3, batch_size=20, n_neighbors=4)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def value(first, second, a, b, loss):
    """What loss-adjusted inference maximises, for bits of 0 and 1."""
    return loss[np.count_nonzero(first != second)] + (2 * first - 1) @ a + (2 * second - 1) @ b


def draw_projections(n_symbols, n=60, seed=0):
    rng = np.random.default_rng([seed, n_symbols])
    a, b = rng.choice([0.03, 0.3, 1], size=(1, n, 1)) * rng.normal(size=(2, n, n_symbols))
    return a.astype(np.float32), b.astype(np.float32), rng.integers(0, 2, n).astype(np.uint8)


@pytest.mark.parametrize(("n_symbols", "rho"), [(1, 1), (2, 1), (2, 2), (5, 1), (5, 3), (5, 5)])
@pytest.mark.parametrize("lam", [0.0, 0.5, 2.0])
def test_the_worst_assignment_is_that_of_exhaustive_search(n_symbols, rho, lam):
    a, b, labels = draw_projections(n_symbols, n=16)
    loss = _minimal_loss.hinges(n_symbols, rho, lam, 1.5)
    first, second = _minimal_loss.worst_assignment(a, b, labels, loss)
    every = np.array(list(product([0, 1], repeat=n_symbols)))
    for t, losses in enumerate(loss.losses[labels]):
        best = max(value(g, h, a[t], b[t], losses) for g in every for h in every)
        mine = value(first[t].astype(int), second[t].astype(int), a[t], b[t], losses)
        assert abs(mine - best) < 1e-4


@pytest.mark.parametrize(("n_symbols", "rho"), [(8, 1), (32, 5), (64, 14), (65, 60)])
@pytest.mark.parametrize("epsilon", [0.3, 3.0, 30.0])
def test_the_worst_assignment_is_as_bad_as_that_of_the_slow_twin(n_symbols, rho, epsilon):
    a, b, labels = draw_projections(n_symbols, n=500)
    loss = _minimal_loss.hinges(n_symbols, rho, 0.7, epsilon)
    found = _minimal_loss.worst_assignment(a, b, labels, loss)
    sorted_ones = learning_oracles.worst_assignment(a, b, loss.losses[labels])
    for t, losses in enumerate(loss.losses[labels]):
        mine, best = (value(g[t].astype(int), h[t].astype(int), a[t], b[t], losses) for g, h in (found, sorted_ones))
        assert abs(mine - best) < 1e-4 * max(1, abs(best))


def test_without_a_loss_the_worst_assignment_is_the_codes():
    a, b, labels = draw_projections(9)
    first, second = _minimal_loss.worst_assignment(a, b, labels, _minimal_loss.hinges(9, 2, 1.0, 0.0))
    np.testing.assert_array_equal(first, a > 0)
    np.testing.assert_array_equal(second, b > 0)


def bound(first, second, weights, labels, loss):
    """The mean over pairs of the worst assignment's value less that of the codes without a loss."""
    a, b = first @ weights.T, second @ weights.T
    worst = _minimal_loss.worst_assignment(a.astype(np.float32), b.astype(np.float32), labels, loss)
    values = [
        value(g.astype(int), h.astype(int), *rest)
        for g, h, *rest in zip(*worst, a, b, loss.losses[labels], strict=True)
    ]
    return np.mean(values) - np.mean(np.abs(a).sum(axis=1) + np.abs(b).sum(axis=1))


def draw_pairs(n_symbols=6, d=5, n=40):
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, n, d)).astype(np.float32)
    weights = rng.normal(size=(n_symbols, d)).astype(np.float32)
    return first, second, weights, rng.integers(0, 2, n).astype(np.uint8), _minimal_loss.hinges(n_symbols, 2, 0.7, 3.0)


def test_the_descent_is_the_gradient_of_the_bound():
    first, second, weights, labels, loss = draw_pairs()
    descent = _minimal_loss.bound_descent(first, second, weights, labels, loss)
    step = 1e-5
    for row, column in product(range(6), range(5)):
        moved = np.zeros(weights.shape)
        moved[row, column] = step
        up, down = (bound(first, second, weights + sign * moved, labels, loss) for sign in (1, -1))
        assert abs((up - down) / (2 * step) + descent[row, column]) < 1e-3


def test_the_bound_is_above_the_loss():
    first, second, weights, labels, loss = draw_pairs()
    distances = np.count_nonzero((first @ weights.T > 0) != (second @ weights.T > 0), axis=1)
    assert bound(first, second, weights, labels, loss) >= loss.losses[labels, distances].mean()


def test_the_loss_begins_at_the_radius_and_is_scaled_to_one():
    apart, together = _minimal_loss.hinges(8, 3, 2.0, 0.5).losses
    np.testing.assert_allclose(together, 0.5 * np.array([0, 0, 0, 1, 2, 3, 4, 5, 6]) / 6, rtol=1e-6)
    np.testing.assert_allclose(apart, 2 * 0.5 * np.array([4, 3, 2, 1, 0, 0, 0, 0, 0]) / 4, rtol=1e-6)


def test_learning_lowers_the_loss_of_pairs():
    rng = np.random.default_rng(0)
    classes = np.arange(120) % 3
    points = rng.normal(size=(3, 8))[classes] + 0.5 * rng.normal(size=(120, 8))
    hasher = MLH(8, rho=2, n_iterations=300, batch_size=100, random_state=0).fit(points, classes)
    bits = hasher.transform(points)
    distances = (bits[:, None] != bits).sum(axis=2)
    same = classes[:, None] == classes
    assert distances[same].mean() < 0.7
    assert distances[~same].mean() > 2.5


def test_normals_have_unit_length():
    normals = MLH(20, rho=2, **SMALL).fit(X).projections_
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, rtol=1e-5)


def test_symbols_are_those_of_the_slow_twin():
    hasher = MLH(20, rho=2, **SMALL).fit(X)
    expected, lead = winners(linear_scores(X, hasher.projections_, None, hasher.center_, 20, 2))
    clear = lead > 1e-4
    np.testing.assert_array_equal(hasher.transform(X)[clear], expected[clear])
    assert clear.mean() > 0.99


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:1200]


def test_codes_find_neighbours_better_than_hyperplanes_and_sinusoids(digits):
    learned = average_precision_of_neighbors(MLH(16, rho=2, n_iterations=500, random_state=0), digits)
    for other in (LSH(16, center=True, random_state=0), SpectralHashing(16)):
        assert learned > average_precision_of_neighbors(other, digits) + 0.05


def test_validation_chooses_a_radius_that_works(digits):
    hasher = MLH(32, n_iterations=120, random_state=0)
    chosen = average_precision_of_neighbors(hasher, digits)
    assert 2 <= hasher.rho_[0] <= 12
    assert chosen > average_precision_of_neighbors(clone(hasher).set_params(rho=24), digits) + 0.02


def test_validation_chooses_the_weight_that_ranks_held_out_pairs_best(digits, monkeypatch):
    monkeypatch.setattr(mlh, "CANDIDATE_WEIGHTS", (1e-6, 1.0))
    hasher = MLH(16, rho=2, n_iterations=200, random_state=0).fit(digits)
    assert hasher.lam_.tolist() == [1.0]
    assert hasher.rho_.tolist() == [2.0]


def test_validation_gives_up_where_pairs_are_too_few():
    hasher = MLH(32, **SMALL).fit(X, similarity=[(0, 1, 1), (2, 3, 0)])
    assert hasher.rho_.tolist() == [mlh.default_radius(32)]
    assert hasher.lam_.tolist() == [1.0]


@pytest.mark.parametrize(("rho", "used"), [(3, 3), (None, 1), (9, 9)])
def test_a_given_radius_is_used(rho, used, tmp_path):
    hasher = MLH(9, rho=rho, **SMALL).fit(X, Y)
    assert hasher.rho_.tolist() == [used]
    hasher.save(tmp_path / "hasher")
    assert load_hasher(tmp_path / "hasher").rho_.tolist() == [used]


def test_a_file_with_an_impossible_radius_is_refused(tmp_path):
    path = tmp_path / "hasher"
    MLH(9, rho=3, **SMALL).fit(X).save(path)
    header, tensors = _files.read_file(path, "hasher")
    for name, wrong in [("rho_", 0), ("rho_", 10), ("rho_", np.nan), ("lam_", -1), ("lam_", np.nan)]:
        _files.write_file(path, tensors | {name: np.float32([wrong])}, header, "hasher")
        with pytest.raises(FileFormatError, match="does not describe a usable MLH"):
            load_hasher(path)


@pytest.mark.parametrize(
    ("parameter", "value", "sentence"),
    [
        ("rho", 0, "rho must be an integer from 1 to 32, got 0"),
        ("rho", 33, "rho must be an integer from 1 to 32, got 33"),
        ("rho", 2.5, "rho must be an integer from 1 to 32"),
        ("rho", "best", "rho must be an integer, 'auto' or None, got 'best'"),
        ("lam", -1, "lam must be a number from 0"),
        ("lam", "best", "lam must be a number or 'auto', got 'best'"),
        ("epsilon", np.nan, "epsilon must be a number from 0"),
        ("epsilon", "best", "epsilon must be a number, 'auto' or None, got 'best'"),
        ("learning_rate", "fast", "learning_rate must be a number from 0"),
        ("momentum", 1.0, "momentum must be a number from 0 to 0.9999, got 1.0"),
        ("similar_share", 1.5, "similar_share must be a number from 0 to 1"),
        ("batch_size", 0, "batch_size must be an integer from 1"),
        ("n_iterations", 0, "n_iterations must be an integer from 1"),
        ("n_neighbors", 0, "n_neighbors must be an integer from 1"),
        ("max_points", 2, "max_points must be an integer from 3"),
        ("center", 1, "center must be True or False, got 1"),
    ],
)
def test_a_wrong_parameter_gets_one_sentence(parameter, value, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        MLH(32, **{parameter: value}).fit(X)

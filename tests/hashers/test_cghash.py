"""CGHash: the hasher contract, gradients against differences, and what column generation promises."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import CGHash, FlatIndex, _files, load_hasher
from rankhash._ranking import average_precision
from rankhash.errors import FileFormatError, InvalidInputError
from rankhash.hashers import cghash

from .inputs import X
from .pairs import LinearCodes, NeighborContract

SMALL = {"n_triplets": 200, "n_neighbors": 8, "random_state": 0}


class TestContract(LinearCodes, NeighborContract):
    history_names = frozenset({"step", "objective", "violation"})

    @pytest.fixture
    def hasher(self):
        return CGHash(5, **SMALL)


@parametrize_with_checks([CGHash(3, n_triplets=50, n_neighbors=4)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def draw(n=40, d=5, n_triplets=80, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    triplets = np.stack([rng.permutation(n)[:3] for _ in range(n_triplets)]).astype(np.int32)
    return cghash.Columns(x, triplets, 30.0), x, triplets


def test_the_quadratic_form_is_the_sum_over_triplets():
    columns, x, triplets = draw()
    duals, normal = np.random.default_rng(1).random(80), np.random.default_rng(2).normal(size=5)
    bits = x @ normal > 0
    said = [int(bits[i] != bits[k]) - int(bits[i] != bits[j]) for i, j, k in triplets]
    np.testing.assert_array_equal(columns._say(normal), said)
    signs = np.where(bits, 1.0, -1.0)
    assert signs @ (columns._matrix(duals) @ signs) == pytest.approx(duals @ said)


def test_the_gradient_of_the_smooth_agreement_is_that_of_differences():
    columns, x, _ = draw()
    matrix = columns._matrix(np.random.default_rng(1).random(80))
    normal = np.random.default_rng(2).normal(size=5)
    slopes = approx_fprime(normal, lambda v: cghash.smooth_agreement(v, x.astype(float), matrix)[0], 1e-7)
    np.testing.assert_allclose(cghash.smooth_agreement(normal, x.astype(float), matrix)[1], slopes, atol=1e-4)


def test_weights_minimise_the_objective():
    said = np.random.default_rng(0).integers(-1, 2, (4, 60)).astype(np.int8)
    said[0] = np.abs(said[0])
    weights, value = cghash.solve_weights(said, 0.5, np.zeros(4))
    assert (weights >= 0).all()
    short = np.maximum(1 - weights @ said, 0)
    slopes = 1 - 2 * 0.5 * said @ short
    assert value == pytest.approx(weights.sum() + 0.5 * short @ short)
    np.testing.assert_allclose(slopes[weights > 1e-6], 0, atol=1e-3)
    assert (slopes[weights <= 1e-6] > -1e-3).all()


def test_the_objective_never_rises_and_falls_where_the_new_bit_violates():
    columns, _, _ = draw(n_triplets=300)
    rng = np.random.RandomState(0)
    for _ in range(8):
        columns.add(2, rng)
    values, violations = columns.history["objective"], columns.history["violation"]
    assert (np.diff(values) <= 1e-6).all()
    for before, after, violation in zip(values[:-1], values[1:], violations[1:], strict=True):
        assert (violation > 1e-3) == (before - after > 1e-9)


def test_the_violation_is_the_slope_of_the_objective():
    columns, _, _ = draw(n_triplets=300)
    columns.add(2, np.random.RandomState(0))
    duals = columns.duals()
    said = columns._say(np.random.default_rng(3).normal(size=5))
    both = np.concatenate([columns.said, said[None]]).astype(float)

    def cost(weight):
        short = np.maximum(1 - np.append(columns.weights, weight) @ both, 0)
        return columns.weights.sum() + weight + columns._loss_weight * short @ short

    assert (cost(0) - cost(1e-6)) / 1e-6 == pytest.approx(duals @ said - 1, abs=1e-3)


def test_weighted_codes_find_classes():
    digits, y = load_digits(return_X_y=True)
    hasher = CGHash(12, n_triplets=3000, random_state=0).fit(digits[:800], y[:800])
    differ = hasher.transform(digits[800:1000])[:, None] != hasher.transform(digits[:800])
    relevant = y[800:1000, None] == y[:800]
    assert average_precision(differ @ hasher.weights_.astype(float), relevant) > relevant.mean() + 0.3


def test_weights_go_to_the_search():
    hasher = CGHash(5, **SMALL).fit(X)
    assert hasher.weights_.mean() == pytest.approx(1, rel=1e-5)
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(X))
    found = index.search(hasher.encode(X[:5]), k=3, weights=hasher.weights_)
    symbols = hasher.transform(X)
    expected = np.sort((symbols[:5, None] != symbols) @ hasher.weights_.astype(float), axis=1)[:, :3]
    np.testing.assert_allclose(found.distances, expected, rtol=1e-5, atol=1e-6)


def test_a_file_with_impossible_weights_is_refused(tmp_path):
    path = tmp_path / "hasher"
    CGHash(5, **SMALL).fit(X).save(path)
    header, tensors = _files.read_file(path, "hasher")
    for value in (-1, 0, np.nan):
        _files.write_file(path, tensors | {"weights_": np.full(5, value, np.float32)}, header, "hasher")
        with pytest.raises(FileFormatError, match="does not describe a usable CGHash"):
            load_hasher(path)


@pytest.mark.parametrize(("parameter", "value"), [("n_triplets", 0), ("n_starts", 0), ("max_points", 2)])
def test_a_wrong_parameter_gets_one_sentence(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be an integer from .*, got {value}"):
        CGHash(**{parameter: value}).fit(X)
    with pytest.raises(InvalidInputError, match="penalty must be a number between 0"):
        CGHash(penalty=0).fit(X)

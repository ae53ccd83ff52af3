"""SPLH: the hasher contract, its directions against their definition, and what it finds."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import LSH, SPLH
from rankhash.errors import InvalidInputError
from rankhash.hashers import splh

from .inputs import X
from .learners import average_precision_of_neighbors
from .pairs import PairContract


class TestContract(PairContract):
    many_points = 500

    @pytest.fixture
    def hasher(self):
        return SPLH(9, random_state=0)

    def test_the_same_random_state_gives_the_same_hasher(self, hasher, fitted):
        """Up to 20 000 vectors nothing is drawn, so that every random state gives the same hasher."""
        for state in (0, 99, None):
            assert clone(hasher).set_params(random_state=state).fit(X).fingerprint == fitted.fingerprint


@parametrize_with_checks([SPLH(4)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def draw(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    x = rng.normal(size=(3, d))[classes] + rng.normal(size=(n, d))
    x -= x.mean(axis=0)
    return x, np.where(classes[:, None] == classes, 1.0, -1.0).astype(np.float32)


def test_the_first_direction_is_the_best_compromise():
    x, similar = draw()
    covariance = x.T @ x / 60
    first = splh.correct_pairs(x, similar.copy(), covariance, 1, 0.3, 0.5)[0]
    matrix = x.T @ similar @ x / 3600 + 0.3 * covariance
    np.testing.assert_allclose(np.linalg.norm(first), 1)
    for other in np.random.default_rng(1).normal(size=(300, 5)):
        assert other @ matrix @ other / (other @ other) <= first @ matrix @ first + 1e-6


def test_wrong_pairs_and_no_others_gain_weight():
    x, similar = draw()
    before = similar.copy()
    w = splh.correct_pairs(x, similar, x.T @ x / 60, 1, 0.1, 0.5)[0]
    along = x @ w
    wrong = np.outer(along, along) * before < 0
    assert (np.abs(similar[wrong]) > 1).all()
    np.testing.assert_array_equal(similar[~wrong], before[~wrong])
    assert (np.sign(similar) == before).all()
    products = np.outer(along, along) / np.abs(along).mean() ** 2
    np.testing.assert_allclose(similar[wrong], (before - 0.5 * products)[wrong], rtol=1e-4)


def test_deflation_takes_a_direction_out_and_starts_again_when_nothing_is_left():
    covariance = np.diag([4.0, 2.0])
    left = splh.deflate(covariance, np.array([1.0, 0.0]), covariance)
    np.testing.assert_allclose(left, np.diag([0, 2.0]))
    np.testing.assert_array_equal(splh.deflate(left, np.array([0.0, 1.0]), covariance), covariance)


def test_without_labels_the_first_direction_is_the_principal_axis_and_thresholds_are_medians():
    rng = np.random.default_rng(0)
    rows = np.exp(rng.normal(size=(501, 4))) * [9, 3, 2, 1]
    hasher = SPLH(12, random_state=0).fit(rows)
    axis = np.linalg.svd(rows - rows.mean(axis=0))[2][0]
    assert abs(hasher.projections_[0] @ axis) > 0.9999
    assert (np.abs(hasher.transform(rows).mean(axis=0) - 0.5) < 0.01).all()


def test_the_pull_is_that_of_all_pairs_at_the_boundary():
    x, _ = draw(n=64)
    along = x[:, 0] - np.median(x[:, 0])
    found = splh.Boundary(x, 0.5, 5).boundary_pull(along)
    low, high = (side[np.argsort(np.abs(along[side]))] for side in (np.where(along <= 0)[0], np.where(along > 0)[0]))
    expected = np.zeros((5, 5))
    for i in low[:5]:
        for j in high[:5]:
            expected += (np.outer(x[i], x[j]) + np.outer(x[j], x[i])) / 25
    for side in (low, high):
        for i in side[:5]:
            for j in side[-5:]:
                expected -= (np.outer(x[i], x[j]) + np.outer(x[j], x[i])) / 50
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_labels_make_better_codes_of_classes():
    digits, y = load_digits(return_X_y=True)
    scores = [SPLH(24).fit(digits[:1000], known).score(digits[1000:], y[1000:]) for known in (None, y[:1000])]
    assert scores[1] > scores[0] + 0.05


def test_codes_without_labels_find_neighbours_better_than_random_hyperplanes():
    digits = load_digits().data[:1200]
    learned = average_precision_of_neighbors(SPLH(32), digits)
    assert learned > average_precision_of_neighbors(LSH(32, center=True, random_state=0), digits)


def test_more_bits_than_dimensions_are_different_bits():
    normals = SPLH(20, random_state=0).fit(X[:, :6], np.arange(len(X)) % 4).projections_
    assert np.isfinite(normals).all()
    assert len(np.unique(normals.round(4), axis=0)) > 12


@pytest.mark.parametrize(("parameter", "value"), [("eta", -1), ("alpha", -1), ("n_boundary", 0), ("max_points", 2)])
def test_a_wrong_parameter_gets_one_sentence(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be a.* from .*, got {value}"):
        SPLH(**{parameter: value}).fit(X)

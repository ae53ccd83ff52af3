"""SDH: the hasher contract, its three steps against their closed forms, and what it finds."""

from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import KSH, SDH
from rankhash.errors import InvalidInputError
from rankhash.hashers import sdh

from .inputs import X
from .pairs import KernelContract, Y

SMALL = {"n_anchors": 20, "random_state": 0}


class TestContract(KernelContract):
    history_names = frozenset({"step", "loss"})

    @pytest.fixture(autouse=True)
    def classes(self, monkeypatch):
        """The contract knows no classes, and SDH no other way to learn."""
        fit = SDH.fit

        def fit_with_classes(hasher, rows, y=None, **known):
            n = rows.shape[0] if hasattr(rows, "shape") else len(np.asarray(rows, dtype=object))
            return fit(hasher, rows, np.arange(n) % 4 if y is None else y, **known)

        monkeypatch.setattr(SDH, "fit", fit_with_classes)

    @pytest.fixture
    def hasher(self):
        return SDH(9, **SMALL)


@parametrize_with_checks([SDH(4, n_anchors=5)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def draw(n=80, m=6, n_bits=5, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    classes = np.eye(n_classes, dtype=np.float32)[np.arange(n) % n_classes]
    features = (classes @ rng.normal(size=(n_classes, m)) + rng.normal(size=(n, m))).astype(np.float32)
    features -= features.mean(axis=0)
    codes = np.where(rng.normal(size=(n, n_bits)) > 0, 1, -1).astype(np.float32)
    return features, classes, codes


def test_the_classifier_is_the_least_squares_one():
    features, classes, codes = draw()
    problem = sdh.Discrete(features, classes, 0.7, 0.1)
    found = problem.classify(codes)
    slope = codes.T @ (codes @ found - classes) + 0.7 * found
    np.testing.assert_allclose(slope, 0, atol=1e-4)


def test_the_regression_is_the_least_squares_one():
    features, classes, codes = draw()
    weights, bias = sdh.Discrete(features, classes, 0.7, 0.1).regress(codes)
    slope = features.T @ (features @ weights + bias - codes) + sdh.RIDGE * weights
    np.testing.assert_allclose(slope, 0, atol=1e-3)
    np.testing.assert_allclose(bias, codes.mean(axis=0), atol=1e-6)


def test_no_single_bit_can_improve_the_codes():
    features, classes, codes = draw()
    problem = sdh.Discrete(features, classes, 1.0, 0.3)
    classifier = problem.classify(codes)
    fits = np.random.default_rng(1).normal(size=codes.shape).astype(np.float32)
    before = problem.loss(codes, classifier, fits)
    sdh.improve_codes(codes, classes, classifier.astype(np.float32), np.float32(0.3) * fits)
    after = problem.loss(codes, classifier, fits)
    assert after < before
    for row, bit in product(range(0, 80, 7), range(5)):
        flipped = codes.copy()
        flipped[row, bit] *= -1
        assert problem.loss(flipped, classifier, fits) >= after - 1e-6


def test_the_loss_never_rises():
    digits, y = load_digits(return_X_y=True)
    losses = SDH(16, n_anchors=100, n_iterations=8, random_state=0).fit(digits, y).history_["loss"]
    assert len(losses) >= 2
    assert (np.diff(losses) <= 1e-4 * losses[0]).all()


def test_codes_are_as_good_as_those_of_ksh_at_least():
    digits, y = load_digits(return_X_y=True)
    learned = SDH(16, n_anchors=300, random_state=0).fit(digits[:1000], y[:1000]).score(digits[1000:], y[1000:])
    assert learned > KSH(16, n_anchors=100, random_state=0).fit(digits[:300], y[:300]).score(digits[1000:], y[1000:])
    assert learned > 0.8


def test_the_form_of_the_labels_does_not_matter():
    plain = SDH(9, **SMALL).fit(X, Y)
    for y in (Y.tolist(), Y.astype(float), np.array(list("abcd"))[Y], Y[:, None], np.eye(4)[Y]):
        assert SDH(9, **SMALL).fit(X, y).fingerprint == plain.fingerprint
    multi = np.eye(4)[Y] + np.eye(4)[Y[::-1]] > 0
    assert SDH(9, **SMALL).fit(X, multi).fingerprint != plain.fingerprint


def test_a_sample_is_learned_from():
    small = SDH(9, max_points=30, **SMALL).fit(X, Y)
    assert small.fingerprint != SDH(9, **SMALL).fit(X, Y).fingerprint
    assert np.isfinite(small.projections_).all()


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        ({}, "SDH requires y to be passed"),
        ({"similarity": [(0, 1, 1), (2, 3, 0)]}, "SDH requires y to be passed"),
        ({"y": Y, "similarity": [(0, 1, 1), (2, 3, 0)]}, "pass y or similarity, not both"),
        ({"y": np.zeros(len(X))}, "y has only one class"),
        ({"y": Y[:-1]}, "one label per vector"),
    ],
)
def test_labels_that_teach_nothing_get_one_sentence(known, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        SDH(9, **SMALL).fit(X, **known)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("n_anchors", 0), ("gamma", -1), ("lam", 0), ("nu", -1), ("n_iterations", 0), ("max_points", 1)],
)
def test_a_wrong_parameter_gets_one_sentence(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be a.* from .*, got {value}"):
        SDH(**{parameter: value}).fit(X, Y)

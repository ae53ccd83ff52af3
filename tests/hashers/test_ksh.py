"""KSH: the hasher contract, its greedy residual, its gradient, and what it finds."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import KSH, LSH
from rankhash.errors import InvalidInputError
from rankhash.hashers.ksh import Greedy
from rankhash.similarity import ClassLabels, similarity_matrix
from rankhash.similarity.given import given_source

from .inputs import X
from .pairs import NeighborContract

SMALL = {"n_anchors": 20, "n_neighbors": 8, "n_iterations": 20, "random_state": 0}
VARIANTS = [KSH(9, **SMALL), KSH(33, gamma=1.0, **(SMALL | {"n_iterations": 0}))]


class TestContract(NeighborContract):
    history_names = frozenset({"step", "residual"})

    many_points = 500

    @pytest.fixture(params=VARIANTS, ids=["descended", "relaxed"])
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([KSH(4, n_anchors=5, n_neighbors=4, n_iterations=5)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def greedy(n=60, m=7, n_bits=6, seed=0):
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    features = rng.normal(size=(3, m))[classes] + rng.normal(size=(n, m))
    features -= features.mean(axis=0)
    return Greedy(features, similarity_matrix(ClassLabels(classes)), n_bits), features, classes


def test_the_gradient_is_that_of_the_soft_loss():
    problem = greedy()[0]
    problem.learn_bit(10, 0.0)
    weights, step = np.random.default_rng(1).normal(size=7), 2.0**-8
    _, slope = problem.loss(weights)
    for place in range(7):
        moved = np.zeros(7)
        moved[place] = step
        difference = (problem.loss(weights + moved)[0] - problem.loss(weights - moved)[0]) / (2 * step)
        assert abs(difference - slope[place]) < 2e-4 * np.abs(slope).max()


def test_the_residual_is_what_the_codes_leave_of_the_similarity():
    problem, features, classes = greedy()
    weights = [problem.learn_bit(50, 0.0) for _ in range(6)]
    missing = 6.0 * np.where(classes[:, None] == classes, 1, -1)
    for bit, residual in zip(weights, problem.residuals, strict=True):
        code = np.where(features @ bit > 0, 1.0, -1.0)
        missing -= np.outer(code, code)
        np.testing.assert_allclose((missing**2).mean() / 36, residual, rtol=1e-9)
    np.testing.assert_allclose(problem.times(features[:, 0]), missing @ features[:, 0], rtol=1e-9)


def test_the_residual_falls_with_every_bit():
    X, y = load_digits(return_X_y=True)
    residuals = KSH(24, n_anchors=50, max_points=500, random_state=0).fit(X, y).history_["residual"]
    assert residuals[0] < 1
    assert (np.diff(residuals) < 0).all()


def test_the_relaxed_weights_are_the_best_of_their_length():
    problem, features, _ = greedy()
    best = problem._relaxed()
    n = len(features)
    np.testing.assert_allclose(np.square(features @ best).sum(), n, rtol=1e-5)
    value = features @ best @ problem.times(features @ best)
    for other in np.random.default_rng(2).normal(size=(200, 7)):
        along = features @ other
        along *= np.sqrt(n) / np.linalg.norm(along)
        assert along @ problem.times(along) <= value * (1 + 1e-6)


def test_descent_lowers_the_soft_loss_and_keeps_the_better_bit():
    problem, _, _ = greedy()
    start = problem._relaxed()
    end = problem.descend(start, 200, 0.0)
    assert problem.loss(end)[0] < problem.loss(start)[0]
    relaxed, descended = greedy()[0], greedy()[0]
    relaxed.learn_bit(0, 0.0)
    descended.learn_bit(200, 0.0)
    assert descended.residuals[0] <= relaxed.residuals[0]


def test_products_with_the_similarity_are_those_of_its_matrix():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(9, 2))
    by_class = similarity_matrix(ClassLabels(np.arange(9) % 4))
    given = similarity_matrix(given_source([(0, 1, 1), (1, 2, -1), (7, 3, 0)], 9))
    for similar in (by_class, given):
        np.testing.assert_allclose(similar.times(columns), similar.matrix() @ columns, atol=1e-5)
        np.testing.assert_array_equal(similar.matrix(), similar.matrix().T)
        assert np.count_nonzero(similar.matrix()) == similar.n_known
    assert given.matrix()[:3, :3].tolist() == [[1, 1, 0], [1, 1, -1], [0, -1, 1]]


def test_codes_of_a_class_agree_more_than_random_hyperplanes():
    X, y = load_digits(return_X_y=True)
    learned = KSH(16, n_anchors=100, random_state=0).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
    assert learned > LSH(16, center=True, random_state=0).fit(X[:1000]).score(X[1000:], y[1000:]) + 0.3


def test_unknown_pairs_of_other_vectors_are_not_learned_from():
    known = [(0, 1, 1), (2, 3, 0), (1, 5, 1), (0, 6, 0)]
    assert np.isfinite(KSH(5, **SMALL).fit(X, similarity=known).projections_).all()


@pytest.mark.parametrize(
    ("parameter", "value", "sentence"),
    [
        ("n_anchors", 0, "n_anchors must be an integer from 1"),
        ("gamma", 0, "gamma must be a number from"),
        ("max_points", 2, "max_points must be an integer from 3"),
        ("n_neighbors", 0, "n_neighbors must be an integer from 1"),
        ("n_iterations", -1, "n_iterations must be an integer from 0"),
        ("tol", 2, "tol must be a number from 0 to 1"),
    ],
)
def test_a_wrong_parameter_gets_one_sentence(parameter, value, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        KSH(**{parameter: value}).fit(X)

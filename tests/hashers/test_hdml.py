"""HDML: the hasher contract, its inner maximisation against brute force, and its descent against differences."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import HDML, LSH
from rankhash._ranking import average_precision
from rankhash.errors import InvalidInputError
from rankhash.hashers import _triplet_loss, hdml

from .inputs import X
from .pairs import LinearCodes, NeighborContract

SMALL = {"n_iterations": 6, "batch_size": 30, "n_neighbors": 8, "random_state": 0}
VARIANTS = [HDML(9, **SMALL), HDML(33, n_negatives=3, center=False, **SMALL)]


class TestContract(LinearCodes, NeighborContract):
    history_names = frozenset({"step", "bound"})

    @pytest.fixture(params=VARIANTS, ids=["centred", "hard negatives"])
    def hasher(self, request):
        return clone(request.param)


@parametrize_with_checks([HDML(8, n_iterations=3, batch_size=20, n_neighbors=4)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def value(bits, projections):
    """What the inner maximisation maximises, for three codes of 0 and 1."""
    first, second, third = bits
    apart = np.count_nonzero(first != second) - np.count_nonzero(first != third)
    return max(apart + 1, 0) + sum((2 * b - 1) @ p for b, p in zip(bits, projections, strict=True))


@pytest.mark.parametrize("scale", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("n_symbols", [1, 2, 3])
def test_the_worst_bits_are_those_of_brute_force(n_symbols, scale):
    rng = np.random.default_rng(n_symbols)
    projections = (scale * rng.normal(size=(3, 40, n_symbols))).astype(np.float32)
    worst = _triplet_loss.worst_triplet_bits(*projections)
    every = np.array(list(product([0, 1], repeat=n_symbols)))
    for t in range(40):
        best = max(value(bits, projections[:, t]) for bits in product(every, repeat=3))
        mine = value([bits[t].astype(int) for bits in worst], projections[:, t])
        assert abs(mine - best) < 1e-5


def dynamic_programme(a, p, n):
    """The maximum by a table over bits and the difference so far, as in the paper."""
    scores = {0: 0.0}
    for bit in zip(a, p, n, strict=True):
        x, y, z = map(float, bit)
        gains = {0: max(abs(x + y + z), abs(x - y - z)), 1: abs(x - y + z), -1: abs(x + y - z)}
        new = {}
        for apart, total in scores.items():
            for change, gain in gains.items():
                new[apart + change] = max(new.get(apart + change, -np.inf), total + gain)
        scores = new
    return max(total + max(apart + 1, 0) for apart, total in scores.items())


def test_the_worst_bits_are_as_bad_as_those_of_dynamic_programming():
    rng = np.random.default_rng(0)
    for n_symbols in (8, 33):
        projections = (rng.choice([0.05, 0.3, 1], (1, 50, 1)) * rng.normal(size=(3, 50, n_symbols))).astype(np.float32)
        worst = _triplet_loss.worst_triplet_bits(*projections)
        for t in range(50):
            best = dynamic_programme(*projections[:, t])
            assert abs(value([bits[t].astype(int) for bits in worst], projections[:, t]) - best) < 1e-4


def draw_points(n=40, d=5, n_symbols=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, n, d)).astype(np.float32), (0.4 * rng.normal(size=(n_symbols, d))).astype(np.float32)


def bound(points, weights):
    """The mean bound by definition, in float64."""
    projections = np.stack([x.astype(float) @ weights.astype(float).T for x in points])
    tops = [dynamic_programme(*projections[:, t]) for t in range(projections.shape[1])]
    return np.mean(tops) - np.abs(projections).sum(axis=(0, 2)).mean()


def test_the_descent_is_the_gradient_of_the_bound():
    points, weights = draw_points()
    descent, mine = _triplet_loss.triplet_descent(*points, weights)
    assert mine == pytest.approx(bound(points, weights), abs=1e-4)
    for row, column in product(range(6), range(5)):
        moved = np.zeros(weights.shape)
        moved[row, column] = 1e-6
        slope = (bound(points, weights + moved) - bound(points, weights - moved)) / 2e-6
        assert abs(slope + descent[row, column]) < 1e-3


def test_the_bound_is_above_the_loss():
    points, weights = draw_points()
    bits = [x @ weights.T > 0 for x in points]
    apart = (bits[0] != bits[1]).sum(axis=1) - (bits[0] != bits[2]).sum(axis=1)
    assert bound(points, weights) >= np.maximum(apart + 1, 0).mean()


def test_the_hardest_negative_has_the_nearest_code():
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(50, 6)).astype(np.float32), rng.normal(size=(9, 6)).astype(np.float32)
    drawn = rng.integers(0, 50, (30, 7)).astype(np.int32)
    bits = x @ weights.T > 0
    for row, triplet in zip(drawn, hdml.hardest(x, weights, drawn), strict=True):
        distances = [np.count_nonzero(bits[row[0]] != bits[third]) for third in row[2:]]
        assert triplet.tolist() == [row[0], row[1], row[2 + int(np.argmin(distances))]]


def test_learning_lowers_the_bound_and_finds_classes():
    digits, y = load_digits(return_X_y=True)
    hasher = HDML(16, n_iterations=600, random_state=0).fit(digits[:1000], y[:1000])
    assert np.mean(hasher.history_["bound"][-5:]) < hasher.history_["bound"][0] / 2
    relevant = y[1000:1300, None] == y[:1000]
    scores = []
    for found in (hasher, LSH(16, center=True, random_state=0).fit(digits[:1000])):
        queries, database = found.transform(digits[1000:1300]), found.transform(digits[:1000])
        scores.append(average_precision((queries[:, None] != database).sum(axis=2), relevant))
    assert scores[0] > scores[1] + 0.2


def test_pairs_without_a_triplet_are_refused():
    with pytest.raises(InvalidInputError, match="no vector occurs in a similar and in a dissimilar pair"):
        HDML(4, **SMALL).fit(X, similarity=[(0, 1, 1), (2, 3, 0)])


@pytest.mark.parametrize(
    ("parameter", "value"), [("n_negatives", 0), ("batch_size", 0), ("n_iterations", 0), ("max_points", 2)]
)
def test_a_wrong_parameter_gets_one_sentence(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be an integer from .*, got {value}"):
        HDML(**{parameter: value}).fit(X)
    with pytest.raises(InvalidInputError, match="weight_decay must be a number from 0"):
        HDML(weight_decay=-1).fit(X)

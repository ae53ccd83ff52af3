"""LSRH: the contract of hashers of several views, and its learning against a naive transcription."""

import numpy as np
import pytest
from sklearn.base import clone

from rankhash import LSRH
from rankhash.errors import InvalidInputError
from rankhash.hashers import lsrh
from rankhash.hashers._views.training import labels_across
from rankhash.similarity import given_source

from .views import ViewContract, X, Y, Z

SMALL = {"n_steps": 30, "batch_size": 40, "random_state": 0}


class TestContract(ViewContract):
    history_names = frozenset({"step", "error"})

    @pytest.fixture(params=[LSRH(6, **SMALL), LSRH(9, 2, **SMALL), LSRH(5, 3, lam=0.5, **SMALL)], ids="432")
    def hasher(self, request):
        return clone(request.param)


def soft(w, x, beta):
    exps = [np.exp(beta * (w[k] @ x)) for k in range(len(w))]
    return np.array(exps) / sum(exps)


def naive_error(batch, weights, costs, beta):
    """The mean cost of all pairs, one pair at a time."""
    total = 0.0
    for i, x in enumerate(batch[0]):
        for j, z in enumerate(batch[1]):
            total += costs[i, j] * (soft(weights[0], x, beta) @ soft(weights[1], z, beta))
    return total / costs.size


def naive_slopes(batch, weights, costs, beta, h=1e-5):
    """Derivatives of the mean cost by central differences."""
    gradients = [np.zeros_like(w) for w in weights]
    for view in (0, 1):
        for place in np.ndindex(weights[view].shape):
            moved = []
            for sign in (1, -1):
                other = [w.copy() for w in weights]
                other[view][place] += sign * h
                moved.append(naive_error(batch, other, costs, beta))
            gradients[view][place] = (moved[0] - moved[1]) / (2 * h)
    return gradients


def naive_function(points, costs, chosen, start, beta, rate):
    weights = [w.astype(np.float64) for w in start]
    for rows in chosen:
        batch, part = [x[rows].astype(np.float64) for x in points], costs[rows][:, rows].astype(np.float64)
        before = naive_error(batch, weights, part, beta)
        moved = [w - rate * s for w, s in zip(weights, naive_slopes(batch, weights, part, beta), strict=True)]
        if naive_error(batch, moved, part, beta) < before:
            weights, rate = moved, rate * 1.05
        else:
            rate *= 0.5
    return weights


def naive_weights(a, labels, lam, p, q):
    """θ and the next weights of all pairs, one pair at a time."""
    n, wrong, norm = len(labels), 0.0, 0.0
    for i, j in np.ndindex(n, n):
        if labels[i, j] >= 0:
            agree = p[i] @ q[j]
            wrong += a[i, j] * ((1 - agree) if labels[i, j] else lam * agree)
            norm += 1 if labels[i, j] else lam
    error = min(max(wrong / norm, 1e-3), 1 - 1e-3)
    theta = np.log((1 - error) / error)
    new = np.array(
        [[a[i, j] * np.exp(theta * abs(p[i] @ q[j] - (labels[i, j] == 1))) for j in range(n)] for i in range(n)]
    )
    return theta, new * (labels >= 0).sum() / new.sum()


@pytest.mark.parametrize("lam", [1.0, 0.4])
def test_the_same_batches_give_the_projections_of_the_naive_twin(lam):
    rng = np.random.default_rng(0)
    points = [lsrh.unit_rows(rng.normal(size=(14, d)).astype(np.float32)) for d in (4, 3)]
    similarity = [(i, j, int(i % 3 == j % 3)) for i in range(14) for j in range(i) if (i + j) % 5]
    labels = labels_across(given_source(similarity, 14), np.arange(14))
    assert {*np.unique(labels)} == {-1, 0, 1}
    boosting, weights = lsrh.ViewBoosting(labels, lam), (labels >= 0).astype(np.float64)
    for symbol in range(6):
        start = [lsrh.unit_rows(rng.standard_normal((3, d), np.float32)) for d in (4, 3)]
        chosen = [rng.choice(14, 9, replace=False) for _ in range(5)]
        boosting.start(symbol)
        found = lsrh.learn_function(points, boosting.costs, iter(chosen), start, lsrh.DescentSettings(2.0, 20.0))
        if symbol % 4 == 0:
            weights = (labels >= 0).astype(np.float64)
        costs = weights * np.where(labels == 1, -1.0, lam)
        expected = naive_function(points, costs, chosen, start, 2.0, 20.0)
        for mine, twin in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, twin, rtol=2e-3, atol=2e-3)
        p, q = (lsrh.soft_symbols(x, w, 2.0) for x, w in zip(points, found, strict=True))
        theta, weights = naive_weights(weights, labels, lam, p.astype(np.float64), q.astype(np.float64))
        assert abs(boosting.advance(p, q) - theta) < 1e-4
        np.testing.assert_allclose(boosting.weights, weights, rtol=1e-3, atol=1e-5)


def test_weights_are_theta_of_the_errors():
    hasher = LSRH(8, **SMALL).fit((X, Z), Y)
    errors = np.clip(hasher.history_["error"], 1e-3, 1 - 1e-3)
    np.testing.assert_allclose(hasher.weights_, np.maximum(np.log((1 - errors) / errors), 1e-3), rtol=1e-5)
    assert hasher.weights_.dtype == np.float32


def test_given_pairs_take_the_place_of_classes():
    similar = (Y[:, None] == Y).astype(int)
    by_pairs = LSRH(6, **SMALL).fit((X, Z), similarity=similar)
    assert by_pairs.fingerprint == LSRH(6, **SMALL).fit((X, Z), Y).fingerprint


def test_a_sample_of_more_items_is_learned_from():
    few = LSRH(4, max_points=30, **SMALL).fit((X, Z), Y)
    assert few.score((X, Z), Y) > 0.5


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("beta", 0), ("lam", -1), ("n_steps", 0), ("batch_size", 1), ("rate", 0), ("max_points", 10**6), ("arity", 17)],
)
def test_wrong_parameters_are_refused(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be"):
        LSRH(4).set_params(**{parameter: value}).fit((X, Z), Y)


def test_more_than_two_views_are_refused():
    with pytest.raises(InvalidInputError, match="LSRH learns from two arrays of vectors"):
        LSRH(4).fit((X, Z, X), Y)

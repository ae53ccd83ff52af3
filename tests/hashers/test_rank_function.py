"""How one function is learned, against slow twins, and what RSH and SRSH hand to it."""

import numpy as np
import pytest
from sklearn.base import clone

import learning_oracles
from rankhash import RSH, SRSH
from rankhash.hashers import rsh, srsh
from rankhash.hashers._pairwise.rank_function import Rule, learn_function
from rankhash.hashers.training import PairPool

from .inputs import X

RHO, LAM, RATE = 0.7, 1.3, 0.2
SMALL = {"max_pairs": 600, "n_neighbors": 8, "random_state": 0}


def draw_problem(arity, n_pairs, seed=0, n=40, d=8):
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(n, d)) / np.sqrt(d)).astype(np.float32)
    pairs = rng.integers(0, n, (n_pairs, 2)).astype(np.int32)
    labels = (rng.random(n_pairs) < 0.4).astype(np.uint8)
    return x, pairs, labels, rng.normal(size=(arity, d)).astype(np.float32)


@pytest.mark.parametrize("hinge", [False, True])
def test_online_steps_shrink_to_nothing_and_the_last_half_is_averaged(hinge):
    x, pairs, labels, start = draw_problem(4, 640)
    learned, trace = learn_function(x, pairs, labels, start, Rule(hinge, RHO, LAM, RATE, 0.0))
    steps = {"rate": RATE, "rate_step": -RATE / 640, "average_from": 320}
    last, mean, bound = learning_oracles.train_pairs(x, pairs, labels, start, hinge, RHO, LAM, **steps)
    np.testing.assert_allclose(learned, mean, atol=1e-4)
    assert np.abs(last - mean).max() > 1e-2  # the twin can tell an average from the last weights
    assert trace.n_pairs == list(range(80, 641, 80))
    assert np.sum(trace.bound) * 80 == pytest.approx(bound, rel=1e-4)


@pytest.mark.parametrize("hinge", [False, True])
def test_batch_steps_follow_the_gradient_over_all_pairs(hinge):
    x, pairs, labels, start = draw_problem(3, 50)
    learned, _ = learn_function(x, pairs, labels, start, Rule(hinge, RHO, LAM, RATE, 0.0, batch=True))
    w, kept = start.astype(np.float64), []
    for step in range(80):
        move = np.zeros_like(w)
        for (i, j), label in zip(pairs, labels, strict=True):
            winner, rival, _ = learning_oracles.assignment(w @ x[i], w @ x[j], bool(label), RHO, LAM, hinge)
            for member, point in enumerate((i, j)):
                move[winner[member]] += x[point]
                move[rival[member]] -= x[point]
        w += RATE * (1 - step / 80) / 80 * move
        kept.append(w.copy())
    np.testing.assert_allclose(learned, np.mean(kept[40:], axis=0), atol=1e-4)
    assert np.abs(learned - start).max() > 1e-2


def test_a_draw_has_the_wanted_share_of_similar_pairs():
    pairs = np.arange(2000, dtype=np.int32).reshape(1000, 2)
    labels = (np.arange(1000) < 300).astype(np.uint8)
    pool = PairPool(np.zeros((2000, 8), np.float32), np.zeros(8, np.float32), 1.0, pairs, labels)
    drawn, kinds = pool.draw(np.random.default_rng(0), 20_000, 0.05)
    assert kinds.mean() == pytest.approx(0.05, abs=0.01)
    np.testing.assert_array_equal(drawn[:, 0] // 2 < 300, kinds == 1)
    assert len(np.unique(drawn[kinds == 0, 0])) == 700


def test_pairs_agree_if_the_same_projection_wins():
    x = np.eye(3, 8, dtype=np.float32)
    pairs = np.array([(0, 1), (0, 2), (1, 2)], np.int32)
    pool = PairPool(x, np.zeros(8, np.float32), 1.0, pairs, np.array([1, 0, 0], np.uint8))
    weights = np.zeros((2, 8), np.float32)
    weights[1, 2] = 1
    assert pool.agreement(weights).tolist() == [True, False, False]


@pytest.fixture
def handed(monkeypatch):
    """What RSH hands to the learning of each function."""
    calls = []

    def learn(pool, start, rule, seed, n_pairs, share):
        calls.append({"rule": rule, "seed": tuple(seed), "n_pairs": n_pairs, "share": share})
        return original(pool, start, rule, seed, n_pairs, share)

    original = rsh._learn_one
    monkeypatch.setattr(rsh, "_learn_one", learn)
    return calls


def test_every_function_of_rsh_has_the_same_rule_and_pairs_of_its_own(handed):
    RSH(6, rho=0.3, lam=1.7, learning_rate=0.2, tol=0.01, similar_share=0.2, **SMALL).fit(X)
    assert [call["rule"] for call in handed] == [Rule(False, 0.3, 1.7, 0.2, 0.01)] * 6
    assert {(call["n_pairs"], call["share"]) for call in handed} == {(600, 0.2)}
    assert len({call["seed"] for call in handed}) == 6


def test_a_stream_learns_ever_more_slowly(handed):
    hasher = RSH(1, learning_rate=0.2, **SMALL)
    for _ in range(3):
        hasher.partial_fit(X)
    np.testing.assert_allclose([call["rule"].rate for call in handed], [0.2, 0.2 / np.sqrt(2), 0.2 / np.sqrt(3)])
    assert len({call["seed"] for call in handed}) == 3


def test_every_function_of_srsh_gets_its_rule_and_ever_more_similar_pairs(monkeypatch):
    rules, shares = [], []

    def learn(x, pairs, labels, start, rule):
        rules.append(rule)
        shares.append(labels.mean())
        return learn_function(x, pairs, labels, start, rule)

    monkeypatch.setattr(srsh, "learn_function", learn)
    SRSH(12, rho=0.3, lam=1.7, learning_rate=0.2, tol=0.01, similar_share=0.8, **SMALL).fit(X)
    assert rules == [Rule(True, 0.3, 1.7, 0.2, 0.01)] * 12
    np.testing.assert_allclose(shares, 0.8 * (1 - 0.5 * np.exp(-np.arange(12) / 8)), atol=0.01)


@pytest.mark.parametrize("boost", [0.0, 0.4, 1.0])
def test_wrong_pairs_gain_by_a_power_of_the_papers_factor(monkeypatch, boost):
    gains = []
    monkeypatch.setattr(srsh.Boosting, "raise_wrong", lambda _, wrong, weight: gains.append((wrong.mean(), weight)))
    hasher = clone(SRSH(5, boost=boost, **SMALL)).fit(X)
    np.testing.assert_allclose([weight for _, weight in gains], boost * hasher.weights_, rtol=1e-5)
    assert all(0 < share < 0.5 for share, _ in gains)

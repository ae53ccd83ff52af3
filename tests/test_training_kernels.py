"""Learning from pairs: the kernels on every instruction set against their slow twins."""

import numpy as np
import pytest

import learning_oracles
from rankhash import _kernels

DIMENSIONS = [1, 7, 8, 9, 40, 65]
ARITIES = [2, 3, 4, 5, 8, 16]


def draw_problem(d, arity, seed=0, n=50, n_pairs=300):
    """Points with coordinates of few bits, so that scores are exact and ties occur."""
    rng = np.random.default_rng(seed)
    x = _kernels.pad_columns((rng.integers(-4, 5, (n, d)) / 4).astype(np.float32))
    weights = _kernels.pad_columns((rng.integers(-4, 5, (arity, d)) / 4).astype(np.float32))
    pairs = rng.integers(0, n, (n_pairs, 2)).astype(np.int32)
    return x, pairs, rng.integers(0, 2, n_pairs).astype(np.uint8), weights


def train(x, pairs, labels, weights, average_from=10**9, **options):
    w, lag = weights.copy(), np.zeros_like(weights)
    totals = _kernels.train_pairs(x, pairs, labels, w, lag, age=-average_from, **options)
    averaged = len(pairs) - average_from
    return w, (w - lag / np.float32(averaged) if averaged > 0 else w), totals


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("hinge", [False, True])
@pytest.mark.parametrize("arity", ARITIES)
def test_one_pair_has_the_bound_and_the_step_of_the_full_scan(arity, hinge):
    x, pairs, labels, tied = draw_problem(7, arity)
    untied = tied + np.random.default_rng(1).normal(size=tied.shape).astype(np.float32) * (tied != 0)
    options = {"hinge": hinge, "rho": 0.75, "lam": 1.25, "rate": 0.5, "rate_step": 0.0}
    for t in range(len(pairs)):
        for weights in (tied, untied):
            one = x, pairs[t : t + 1], labels[t : t + 1], weights
            w, _, totals = train(*one, **options)
            expected, _, bound = learning_oracles.train_pairs(*one, *options.values(), average_from=1)
            a, b = x[pairs[t]] @ weights.T
            assert totals.bound == pytest.approx(bound, abs=1e-5)
            assert totals.errors == ((a.argmax() == b.argmax()) != labels[t])
        np.testing.assert_allclose(w, expected, atol=1e-6)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("hinge", [False, True])
@pytest.mark.parametrize("arity", ARITIES)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_pass_is_that_of_the_slow_twin(d, arity, hinge):
    rng = np.random.default_rng(d)
    _, pairs, labels, _ = draw_problem(d, arity)
    x = _kernels.pad_columns(rng.normal(size=(50, d)).astype(np.float32))
    weights = _kernels.pad_columns(rng.normal(size=(arity, d)).astype(np.float32))
    options = {"hinge": hinge, "rho": 0.7, "lam": 1.0, "rate": 0.05, "rate_step": -0.05 / 300}
    w, mean, totals = train(x, pairs, labels, weights, average_from=150, **options)
    expected = learning_oracles.train_pairs(x, pairs, labels, weights, *options.values(), average_from=150)
    np.testing.assert_allclose(w, expected[0], atol=1e-4)
    np.testing.assert_allclose(mean, expected[1], atol=1e-4)
    assert totals.bound == pytest.approx(expected[2], rel=1e-4)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("hinge", [False, True])
def test_every_pair_can_have_a_rate_of_its_own(hinge):
    x, pairs, labels, weights = draw_problem(9, 5)
    rates = np.random.default_rng(2).integers(0, 9, len(pairs)).astype(np.float32) / 64
    options = {"hinge": hinge, "rho": 0.75, "lam": 1.25, "rate_step": 0.0}
    expected = weights
    for t, rate in enumerate(rates):
        one = x, pairs[t : t + 1], labels[t : t + 1], expected
        expected = train(*one, rate=float(rate), **options)[0]
    learned, _, _ = train(x, pairs, labels, weights, rate=1.0, rates=rates, **options)
    np.testing.assert_array_equal(learned, expected)
    assert not np.array_equal(learned, train(x, pairs, labels, weights, rate=1.0, **options)[0])


def test_instruction_sets_agree_in_every_bit():
    x, pairs, labels, weights = draw_problem(40, 5, n_pairs=2000)
    options = {"hinge": True, "rho": 0.7, "lam": 1.0, "rate": 0.03, "rate_step": -1e-6}
    results, before = [], _kernels.cpu_info().isa
    try:
        for isa in _kernels.cpu_info().available:
            _kernels.use_isa(isa)
            results.append(train(x, pairs, labels, weights, average_from=500, **options))
    finally:
        _kernels.use_isa(before)
    for w, mean, totals in results[1:]:
        np.testing.assert_array_equal(w, results[0][0])
        np.testing.assert_array_equal(mean, results[0][1])
        assert totals == results[0][2]


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("hinge", [False, True])
@pytest.mark.parametrize("arity", ARITIES)
def test_the_gradient_is_the_sum_over_the_pairs(arity, hinge):
    x, pairs, labels, weights = draw_problem(9, arity)
    scores = np.ascontiguousarray(x @ weights.T) + np.random.default_rng(0).random((50, arity), np.float32)
    gradient, totals = _kernels.pair_gradient(scores, pairs, labels, hinge=hinge, rho=0.7, lam=1.3)
    expected, bound = np.zeros_like(scores), 0.0
    for (i, j), label in zip(pairs, labels, strict=True):
        winner, rival, extra = learning_oracles.assignment(scores[i], scores[j], bool(label), 0.7, 1.3, hinge)
        bound += extra
        for point, right, wrong in zip((i, j), winner, rival, strict=True):
            expected[point, right] += 1
            expected[point, wrong] -= 1
    np.testing.assert_array_equal(gradient, expected)
    assert totals.bound == pytest.approx(bound, rel=1e-5)


def test_no_pairs_change_nothing():
    x, pairs, labels, weights = draw_problem(9, 4)
    options = {"hinge": False, "rho": 1.0, "lam": 1.0, "rate": 1.0, "rate_step": 0.0}
    w, _, totals = train(x, pairs[:0], labels[:0], weights, **options)
    np.testing.assert_array_equal(w, weights)
    assert totals == _kernels.PairTotals(0.0, 0, 0)

"""``update="paper"`` of RSH and SRSH against naive transcriptions of the paper's Algorithms 1 and 2."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

import learning_oracles
from rankhash import RSH, SRSH
from rankhash.errors import InvalidInputError
from rankhash.hashers import rsh as rsh_module
from rankhash.hashers import training as training_module
from rankhash.hashers._pairwise import boosting as boosting_module
from rankhash.hashers._pairwise import rank_function
from rankhash.hashers._pairwise.boosting import PaperBoosting
from rankhash.hashers._pairwise.rank_function import Rule
from rankhash.hashers.training import PairPool, Training, labelled_points
from rankhash.vectors import batches

from .inputs import X
from .learners import LearnerContract

SMALL = {"max_pairs": 400, "n_neighbors": 8, "random_state": 0}
VARIANTS = [
    RSH(5, update="paper", **SMALL),
    SRSH(4, 3, update="paper", **SMALL),
    SRSH(5, update="paper-sampling", **SMALL),
]


class TestContract(LearnerContract):
    @pytest.fixture(params=VARIANTS, ids=["RSH", "SRSH", "SRSH sampling"])
    def hasher(self, request):
        return clone(request.param)


def problem(seed, arity, n=40, d=8):
    """Points of two clouds, all of their pairs with labels, and random starts of three functions."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 2, n)
    x = (rng.normal(size=(n, d)) / 3 + classes[:, None]).astype(np.float32)
    pairs = np.stack(np.triu_indices(n, 1), axis=1).astype(np.int32)
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    order = np.argsort(~same, kind="stable")
    pool = PairPool(x, np.zeros(d, np.float32), 1.0, pairs[order], same[order].astype(np.uint8))
    return pool, rng.normal(size=(3, arity, d)).astype(np.float32), rng


@pytest.mark.parametrize("arity", [2, 3, 4, 8])
@pytest.mark.parametrize("seed", range(4))
def test_rsh_takes_the_steps_of_algorithm_1(seed, arity):
    pool, starts, rng = problem(seed, arity)
    picked = rng.integers(0, len(pool.pairs), (3, 300))
    expected = learning_oracles.algorithm_1(pool.x, pool.pairs, pool.labels, picked, starts, 0.7, 0.9, 0.05)
    rule = Rule(False, 0.7, 0.9, 0.05, 0.0, literal=True)
    for start, picks, w in zip(starts, picked, expected, strict=True):
        learned, trace = rank_function.learn_function(pool.x, pool.pairs[picks], pool.labels[picks], start, rule)
        np.testing.assert_allclose(learned, w, atol=2e-5)
        assert not np.allclose(learned, start, atol=1e-3)
        assert trace.n_pairs[-1] == 300


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize("arity", [2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_srsh_takes_the_steps_of_algorithm_2(seed, arity, sampling):
    pool, starts, rng = problem(seed, arity)
    picked = rng.integers(0, len(pool.pairs), (3, 300))
    learned, errors, alphas = learning_oracles.algorithm_2(
        pool.x, pool.pairs, pool.labels, picked, starts, 0.7, 0.9, 0.05, on_step=not sampling
    )
    boosting, rule = PaperBoosting(pool.labels, sampling=sampling), Rule(False, 0.7, 0.9, 0.05, 0.0, literal=True)
    for function, (start, picks) in enumerate(zip(starts, picked, strict=True)):
        np.testing.assert_allclose(boosting._alpha, alphas[function], rtol=1e-9)
        member = boosting.learn(pool, picks, start, rule)
        np.testing.assert_allclose(member.weights, learned[function], atol=1e-4)
        assert member.error == pytest.approx(errors[function], rel=1e-9)
    assert np.ptp(boosting._alpha) > 0.1
    assert boosting._alpha.sum() == pytest.approx(len(pool.pairs))


LITERAL = {"max_pairs": 300, "tol": 0.0, "n_neighbors": 8, "random_state": 3, "rho": 0.7, "lam": 0.9}
"""Without a tolerance, a function sees all the pairs that it picks."""


def recorded(monkeypatch, place, name):
    """The arguments of all calls of a function, which is called as before."""
    calls, original = [], getattr(place, name)
    monkeypatch.setattr(place, name, lambda *given: (calls.append(given), original(*given))[1])
    return calls


def learned_rows(hasher, start):
    """The projections of a fitted hasher in the units of learning, with as many columns as the start."""
    rows = (hasher.projections_ * hasher.scale_).reshape(hasher.n_symbols, hasher.arity, -1)
    return np.pad(rows, ((0, 0), (0, 0), (0, start.shape[1] - rows.shape[2])))


def test_a_fit_of_rsh_is_algorithm_1(monkeypatch):
    calls = recorded(monkeypatch, rsh_module, "learn_function")
    hasher = RSH(5, 3, update="paper", learning_rate=0.05, **LITERAL).fit(X)
    assert len(calls) == 5
    for row, (x, pairs, labels, start, _) in zip(learned_rows(hasher, calls[0][3]), calls, strict=True):
        (expected,) = learning_oracles.algorithm_1(x, pairs, labels, [range(300)], [start], 0.7, 0.9, 0.05)
        assert len(pairs) == 300
        np.testing.assert_allclose(row, expected, atol=1e-4)
        assert not np.allclose(row, start, atol=1e-2)


@pytest.mark.parametrize("update", ["paper", "paper-sampling"])
def test_a_fit_of_srsh_is_algorithm_2(monkeypatch, update):
    calls = recorded(monkeypatch, PaperBoosting, "learn")
    hasher = SRSH(5, 3, update=update, learning_rate=0.05, **LITERAL).fit(X)
    pool, starts, picked = calls[0][1], [call[3] for call in calls], [call[2] for call in calls]
    learned, errors, _ = learning_oracles.algorithm_2(
        pool.x, pool.pairs, pool.labels, picked, starts, 0.7, 0.9, 0.05, on_step=update == "paper"
    )
    assert [len(picks) for picks in picked] == [300] * 5
    np.testing.assert_allclose(learned_rows(hasher, starts[0]), learned, atol=1e-3)
    np.testing.assert_allclose(hasher.errors_, errors, rtol=1e-5)
    thetas = np.log((1 - np.array(errors)) / errors)
    np.testing.assert_allclose(hasher.weights_, np.maximum(thetas, boosting_module.MIN_WEIGHT), rtol=1e-4)


def test_only_the_ratios_of_losses_start_and_rate_matter():
    fits = (
        RSH(4, update="paper", rho=c * 0.5, lam=c, init_scale=c * 0.1, learning_rate=c * 0.03, **SMALL).fit(X)
        for c in (1.0, 2.0)
    )
    first, second = (fit.transform(X) for fit in fits)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("most", [10, 1000])
def test_pairs_at_their_natural_rate_are_all_known_ones_or_a_sample(most, monkeypatch):
    monkeypatch.setattr(training_module, "MAX_NATURAL", most)
    y = np.arange(len(X)) % 4
    given = [(i, j, int(y[i] == y[j])) for i in range(30) for j in range(i)]
    points = labelled_points(Training(batches(X), None, np.array(given)), "RSH", np.random.default_rng(0), 1000, 8)
    pool = points.natural_pool(np.random.default_rng(0))
    found = {(max(pair), min(pair), int(label)) for pair, label in zip(pool.pairs.tolist(), pool.labels, strict=True)}
    assert len(pool.pairs) == len(found) == min(most, len(given))
    assert found <= set(given)
    assert (np.diff(pool.labels.astype(int)) <= 0).all()


def test_the_sampling_reading_draws_in_proportion_to_alpha_and_the_other_does_not():
    labels = np.array([1] * 3 + [0] * 5, np.uint8)
    for sampling in (False, True):
        boosting = PaperBoosting(labels, sampling=sampling)
        boosting._alpha = np.array([9.0, 1, 1, 1, 1, 1, 1, 1])
        drawn = np.bincount(boosting.pick(np.random.default_rng(0), 20_000), minlength=8) / 20_000
        expected = boosting._alpha / boosting._alpha.sum() if sampling else np.full(8, 1 / 8)
        np.testing.assert_allclose(drawn, expected, atol=0.01)


@pytest.mark.parametrize("rho", [1e-3, 1.0, 1e6])
def test_extreme_losses_give_finite_weights(rho):
    hasher = SRSH(6, update="paper", rho=rho, lam=rho, **SMALL).fit(X)
    assert np.isfinite(hasher.weights_).all()
    assert (hasher.weights_ >= np.float32(boosting_module.MIN_WEIGHT)).all()


def test_pairs_come_at_their_natural_rate():
    vectors, y = load_digits(return_X_y=True)
    hasher = RSH(2, update="paper", max_pairs=2000, random_state=0)
    hasher.fit(vectors[:300], y[:300])
    first, second = np.triu_indices(300, 1)
    rate = (y[first] == y[second]).mean()
    errors = rate * (1 - hasher.agreement_[:, 0]) + (1 - rate) * hasher.agreement_[:, 1]
    np.testing.assert_allclose(hasher.errors_, errors, rtol=1e-4)


def test_learning_improves_on_the_random_start():
    vectors, y = load_digits(return_X_y=True)
    train, test = (vectors[:600], y[:600]), (vectors[600:1200], y[600:1200])
    still = RSH(12, update="paper", learning_rate=0.0, random_state=0).fit(*train).score(*test)
    for hasher in (RSH(12, update="paper"), SRSH(12, update="paper"), SRSH(12, update="paper-sampling")):
        assert hasher.set_params(random_state=0).fit(*train).score(*test) > still + 0.02


def test_the_start_is_gaussian_if_asked_for():
    still = {"learning_rate": 0.0, "n_neighbors": 8, "max_pairs": 10, "random_state": 0}
    products = {}
    for init in ("orthogonal", "gaussian"):
        rows = RSH(3, 4, init=init, init_scale=0.5, **still).fit(X)
        rows = rows.projections_ * rows.scale_
        products[init] = np.abs(rows @ rows.T - np.diag(np.diag(rows @ rows.T))).max()
    assert products["orthogonal"] < 1e-4 < 0.5 < products["gaussian"]
    wide = RSH(64, 4, update="paper", **still).fit(X)
    assert np.std(wide.projections_ * wide.scale_) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("hasher", "sentence"),
    [
        (RSH(update="bound"), "update must be 'averaged' or 'paper', got 'bound'"),
        (RSH(init="zeros"), "init must be 'orthogonal' or 'gaussian', got 'zeros'"),
        (RSH(update="paper", mode="batch"), "takes a step per pair; set mode='online'"),
        (RSH(update=1), "update must be 'averaged' or 'paper', got 1"),
        (SRSH(update="best"), "update must be 'hinge' or 'bound' or 'paper' or 'paper-sampling', got 'best'"),
    ],
)
def test_impossible_parameters_are_refused(hasher, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        hasher.fit(X)

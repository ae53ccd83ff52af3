"""BRE: the hasher contract, its steps against trying every interval, and what it finds."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import BRE, LSH
from rankhash.errors import InvalidInputError
from rankhash.hashers.bre import CoordinateDescent

from .inputs import X
from .learners import average_precision_of_neighbors
from .pairs import LinearCodes, PairContract

SMALL = {"n_chosen": 5, "n_sweeps": 5, "pair_share": 0.2, "random_state": 0}


class TestContract(LinearCodes, PairContract):
    history_names = frozenset({"step", "loss"})

    many_points = 500

    @pytest.fixture
    def hasher(self):
        return BRE(9, **SMALL)


@parametrize_with_checks([BRE(4, n_sweeps=2)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def draw(n=40, d=4, n_bits=5, seed=0, zero=False):
    rng = np.random.RandomState(seed)
    x = rng.standard_normal((n, d))
    if zero:
        x[:, :2] = 0
        x[: n // 2, 2] = 0
        x[n // 2 :, 3] = 0
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    pairs = np.array([(i, j) for i in range(n) for j in rng.choice(n, 6, replace=False) if i != j])
    targets = ((x[pairs[:, 0]] - x[pairs[:, 1]]) ** 2).sum(axis=1) / 4
    return CoordinateDescent(x, pairs, targets, n_bits, 7, rng), x, pairs, targets


def loss_of(problem, x, pairs, targets):
    """The loss from the weights alone."""
    normals = np.stack([w @ x[c] for c, w in zip(problem.chosen, problem.weights, strict=True)])
    bits = x @ normals.T > 0
    differing = (bits[pairs[:, 0]] != bits[pairs[:, 1]]).mean(axis=1)
    return ((differing - targets) ** 2).mean() / 2


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_step_finds_the_best_value_of_its_weight(seed, zero):
    problem, x, pairs, targets = draw(seed=seed, zero=zero)
    for bit, place in [(0, 0), (3, 6), (4, 2)]:
        problem.improve(bit, place)
        found = problem.loss()
        np.testing.assert_allclose(found, loss_of(problem, x, pairs, targets), rtol=1e-9)
        kept = problem.weights[bit, place]
        for value in np.concatenate([np.linspace(-2, 2, 301), kept + np.linspace(-0.01, 0.01, 301)]):
            problem.weights[bit, place] = value
            assert loss_of(problem, x, pairs, targets) >= found - 1e-12
        problem.weights[bit, place] = kept


def test_the_loss_never_rises():
    losses = BRE(16, n_sweeps=30, tol=0.0, random_state=0).fit(X).history_["loss"]
    assert len(losses) == 31
    assert (np.diff(losses) <= 0).all()
    assert losses[-1] < 0.8 * losses[0]


def test_learning_ends_when_sweeps_gain_little():
    assert len(BRE(8, tol=1.0, random_state=0).fit(X).history_["loss"]) == 12


def test_the_kept_bits_are_those_of_the_projections():
    hasher = BRE(16, n_sweeps=10, random_state=0)
    assert np.allclose(np.linalg.norm(hasher.fit(X).projections_, axis=1), 1, atol=1e-5)


def test_hamming_distances_come_close_to_the_targets():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 6)) * [3, 2, 1, 1, 1, 1]
    unit = rows - rows.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    wanted = ((unit[:, None] - unit) ** 2).sum(axis=2) / 4
    for random, learned in [(LSH(24, center=True, random_state=0), BRE(24, n_sweeps=60, random_state=0))]:
        errors = []
        for hasher in (random, learned):
            bits = hasher.fit(rows).transform(rows)
            errors.append((((bits[:, None] != bits).mean(axis=2) - wanted) ** 2).mean())
        assert errors[1] < 0.6 * errors[0]


def test_codes_find_neighbours_better_than_random_hyperplanes():
    digits = load_digits().data[:1200]
    learned = average_precision_of_neighbors(BRE(16, n_sweeps=20, random_state=0), digits)
    assert learned > average_precision_of_neighbors(LSH(16, center=True, random_state=0), digits) + 0.05


def test_classes_bring_their_members_together():
    digits, y = load_digits(return_X_y=True)
    plain, taught = (BRE(12, n_sweeps=15, random_state=0).fit(digits[:500], known) for known in (None, y[:500]))
    scores = [hasher.score(digits[900:], y[900:]) for hasher in (plain, taught)]
    assert scores[1] > scores[0]


def test_constant_columns_and_duplicates_are_no_problem():
    rows = np.repeat(X, 3, axis=0)
    rows[:, 2] = 7
    assert np.isfinite(clone(BRE(9, **SMALL)).fit(rows).projections_).all()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("n_chosen", 0), ("pair_share", 2), ("n_sweeps", -1), ("tol", -1), ("max_points", 2)],
)
def test_a_wrong_parameter_gets_one_sentence(parameter, value):
    with pytest.raises(InvalidInputError, match=f"{parameter} must be a.* from .*, got {value}"):
        BRE(**{parameter: value}).fit(X)

"""Tuning: the best parameters win, scores are those of held-out queries, scikit-learn's searches work."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV

import oracles
from rankhash import LSH, RSH, SRSH, WTA, _ranking, tune
from rankhash.errors import InvalidInputError

VECTORS, Y = (part[:600] for part in load_digits(return_X_y=True))
QUICK = {"max_pairs": 4000, "random_state": 0}


def test_the_best_parameters_come_first_and_are_fitted():
    tuning = tune(RSH(8, **QUICK), VECTORS, Y, grid={"learning_rate": [0.0, 0.075], "arity": [4]})
    means = [trial.mean for trial in tuning.trials]
    assert means == sorted(means, reverse=True)
    assert tuning.best.parameters == {"learning_rate": 0.075, "arity": 4}
    assert tuning.best.std > 0
    assert tuning.hasher.learning_rate == 0.075
    assert tuning.hasher.fingerprint == RSH(8, **QUICK).fit(VECTORS, Y).fingerprint
    assert "learning_rate=0.075" in str(tuning).splitlines()[1]


@pytest.mark.parametrize("labelled", [True, False])
def test_a_score_is_that_of_held_out_queries_against_the_training_vectors(labelled):
    y = Y if labelled else None
    hasher, cv = LSH(16, random_state=0), KFold(3)
    tuning = tune(hasher, VECTORS, y, grid={"center": [True]}, cv=cv, n_neighbors=20)
    for score, (train, test) in zip(tuning.best.scores, cv.split(VECTORS), strict=True):
        codes = LSH(16, center=True, random_state=0).fit(VECTORS[train])
        distances = oracles.hamming(codes.transform(VECTORS[test]), codes.transform(VECTORS[train]))
        within = np.sort(cdist(VECTORS[train], VECTORS[train])[np.triu_indices(len(train), 1)])
        radius = within[len(train) * 20 // 2 - 1]
        truth = Y[test][:, None] == Y[train] if labelled else cdist(VECTORS[test], VECTORS[train]) <= radius
        assert score == pytest.approx(oracles.average_precision(distances, truth), abs=2e-4)


def test_given_pairs_are_scored_across_the_folds():
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 600, (20_000, 2))
    given = np.column_stack([pairs, Y[pairs[:, 0]] == Y[pairs[:, 1]]])
    tuning = tune(SRSH(8, **QUICK), VECTORS, similarity=given, grid={"init_scale": [0.3, 100.0]})
    assert tuning.best.parameters == {"init_scale": 0.3}


def test_folds_and_jobs_do_not_change_the_result():
    grid = [{"arity": [2, 4]}, {"degree": [2]}]
    one = tune(WTA(8, random_state=0), VECTORS, Y, grid=grid, cv=2)
    two = tune(WTA(8, random_state=0), VECTORS, Y, grid=grid, cv=2, n_jobs=2)
    assert [trial.scores for trial in one.trials] == [trial.scores for trial in two.trials]
    assert len(one.trials) == 3


def test_a_metric_can_be_a_function():
    tuning = tune(LSH(8, random_state=0), VECTORS, Y, grid={}, metric=lambda distances, _: float(distances.mean()))
    assert 0 < tuning.best.mean < 8
    with pytest.raises(InvalidInputError, match="metric must be one of average_precision or a function"):
        tune(LSH(), VECTORS, Y, grid={}, metric="accuracy")


@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_searches_of_scikit_learn_work(search):
    extra = {"n_iter": 2, "random_state": 0} if search is RandomizedSearchCV else {}
    found = search(RSH(8, **QUICK), {"learning_rate": [0.0, 0.075]}, cv=2, **extra).fit(VECTORS, Y)
    assert found.best_params_ == {"learning_rate": 0.075}
    assert found.best_score_ > 0.3
    assert found.transform(VECTORS).shape == (600, 8)


@pytest.mark.parametrize("seed", range(5))
def test_average_precision_is_that_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    relevant = rng.random(500) < 0.2
    distances = rng.integers(0, 10, 500) + 3 * ~relevant
    expected = oracles.average_precision(distances, relevant)
    assert _ranking.average_precision(distances, relevant) == pytest.approx(expected)
    order = rng.permutation(500)
    assert _ranking.average_precision(distances[order], relevant[order]) == pytest.approx(expected)


def test_average_precision_has_its_limits():
    relevant = np.arange(10) < 3
    assert _ranking.average_precision(np.arange(10), relevant) == pytest.approx(1)
    assert _ranking.average_precision(np.zeros(10), relevant) == pytest.approx(0.3)
    assert _ranking.average_precision(np.arange(10), np.zeros(10, bool)) == 0


def test_distances_of_pairs_are_those_of_the_slow_twin():
    symbols = np.random.default_rng(0).integers(0, 4, (40, 9)).astype(np.uint8)
    weights = np.random.default_rng(1).random(9)
    pairs = _ranking.some_pairs(np.random.default_rng(0), 40)
    for chosen in (None, weights):
        slow = oracles.weighted(symbols, symbols, np.ones(9) if chosen is None else chosen)
        found = _ranking.pair_distances(symbols, pairs, chosen)
        np.testing.assert_allclose(found, slow[pairs[:, 0], pairs[:, 1]], rtol=1e-6)
    assert len(_ranking.some_pairs(np.random.default_rng(0), 40, most=100)) == 100


@pytest.mark.parametrize("update", ["hinge", "paper-sampling"])
def test_lengths_of_nested_codes_are_scored_by_one_fit(update, monkeypatch):
    hasher, fitted = SRSH(update=update, **QUICK), []
    learn = SRSH._learn
    monkeypatch.setattr(SRSH, "_learn", lambda self, *given: fitted.append(self.n_symbols) or learn(self, *given))
    tuning = tune(hasher, VECTORS, Y, grid={"n_symbols": [4, 8], "arity": [2, 4]}, cv=2)
    assert fitted[:-1] == [8] * 4
    assert len(tuning.trials) == 4
    alone = tune(SRSH(4, 2, update=update, **QUICK), VECTORS, Y, grid={}, cv=2).best.scores
    assert alone in [trial.scores for trial in tuning.trials]


@pytest.mark.parametrize(
    "hasher",
    [
        SRSH(**QUICK),
        SRSH(update="bound", **QUICK),
        SRSH(update="paper-sampling", **QUICK),
        RSH(update="paper", **QUICK),
    ],
)
def test_the_first_symbols_of_a_nested_code_are_a_shorter_code(hasher):
    assert hasher.nested
    short, long = (clone(hasher).set_params(n_symbols=n).fit(VECTORS, Y).transform(VECTORS) for n in (3, 6))
    assert (long[:, :3] == short).all()
    assert not RSH(**QUICK).nested

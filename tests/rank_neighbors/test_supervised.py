"""Classes and numbers from neighbours are those of scikit-learn's own estimators."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import JRSH, InvalidInputError, RankNeighborsClassifier, RankNeighborsRegressor


@parametrize_with_checks([RankNeighborsClassifier(), RankNeighborsRegressor()])
def test_estimator_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_predictions_are_those_of_scikit_learn(rng, weights, metric):
    X, Q = rng.normal(size=(300, 6)), rng.normal(size=(50, 6))
    y = np.array(["left", "middle", "right"])[rng.integers(0, 3, 300)]
    ours = RankNeighborsClassifier(metric=metric, weights=weights, n_neighbors=7).fit(X, y)
    theirs = KNeighborsClassifier(7, metric=metric, weights=weights, algorithm="brute").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(Q), theirs.predict_proba(Q), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(Q), theirs.predict(Q))
    targets = rng.normal(size=(300, 2))
    for y in (targets, targets[:, 0]):
        ours = RankNeighborsRegressor(metric=metric, weights=weights, n_neighbors=7).fit(X, y)
        theirs = KNeighborsRegressor(7, metric=metric, weights=weights, algorithm="brute").fit(X, y)
        np.testing.assert_allclose(ours.predict(Q), theirs.predict(Q), atol=1e-4)


def test_a_neighbour_at_the_same_place_decides_alone():
    X, y = [[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]], [1.0, 5.0, 5.0]
    assert RankNeighborsRegressor(n_neighbors=3, weights="distance").fit(X, y).predict(X).tolist() == y


def test_a_hasher_learns_from_the_classes():
    X, y = load_digits(return_X_y=True)
    model = RankNeighborsClassifier(JRSH(n_bits=32, random_state=0, verbose=0), n_neighbors=9).fit(X[:1500], y[:1500])
    assert model.hasher_.layout_.bits == 32
    assert model.score(X[1500:], y[1500:]) > 0.9


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (RankNeighborsClassifier(weights="near"), [0, 1], "weights must be"),
        (RankNeighborsClassifier(), [0, 1, 2], "one entry for each of 2 vectors, got 3"),
        (RankNeighborsRegressor(), [0.0, np.inf], "y must hold finite numbers"),
    ],
)
def test_mistakes_are_named(model, y, message):
    with pytest.raises(InvalidInputError, match=message):
        model.fit([[0.0], [1.0]], y)


def test_a_number_in_the_place_of_the_hasher_gets_a_hint(rng):
    with pytest.raises(InvalidInputError, match="say n_neighbors=5"):
        RankNeighborsClassifier(5).fit(rng.normal(size=(20, 3)), np.arange(20) % 2)

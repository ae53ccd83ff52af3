"""True neighbours fit where scikit-learn's own neighbours do, and are the same."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import LSH, InvalidInputError, RankNeighbors, RankNeighborsTransformer, VectorIndex
from rankhash.rank_neighbors import _by_vectors
from vector_index.brute import clustered


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32), y


@parametrize_with_checks([RankNeighbors(), RankNeighborsTransformer()])
def test_estimator_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbors_are_those_of_scikit_learn(rng, metric):
    X, Q = rng.normal(size=(600, 7)), rng.normal(size=(40, 7))
    ours, theirs = RankNeighbors(metric=metric).fit(X), NearestNeighbors(metric=metric, algorithm="brute").fit(X)
    assert isinstance(ours.index_, VectorIndex)
    assert ours.hasher_ is None
    for queries in (Q, None):
        mine, true = ours.kneighbors(queries, 8), theirs.kneighbors(queries, 8)
        np.testing.assert_allclose(mine[0], true[0], atol=1e-5)
        np.testing.assert_array_equal(mine[1], true[1])
        assert (ours.kneighbors_graph(queries) != theirs.kneighbors_graph(queries)).nnz == 0


@pytest.mark.parametrize("answers", [4000, 100])
def test_all_vectors_within_a_radius_are_found(rng, monkeypatch, answers):
    monkeypatch.setattr(_by_vectors, "FIRST_K", 2)
    monkeypatch.setattr(_by_vectors, "_ANSWERS", answers)
    X = rng.normal(size=(300, 4))
    ours, theirs = RankNeighbors(radius=1.3).fit(X), NearestNeighbors(radius=1.3).fit(X)
    for queries, radius in [(X[:50] + 0.1, None), (None, 0.8), (X[:9], 99.0), (X[:9], 0.0)]:
        mine = ours.radius_neighbors(queries, radius)
        true = theirs.radius_neighbors(queries, radius, sort_results=True)
        for side in (0, 1):
            for a, b in zip(mine[side], true[side], strict=True):
                np.testing.assert_allclose(a, b, atol=1e-5)


def test_graphs_have_the_form_of_scikit_learn(digits):
    X, _ = digits
    ours, theirs = RankNeighborsTransformer(n_neighbors=4), KNeighborsTransformer(n_neighbors=4)
    a, b = ours.fit_transform(X), theirs.fit_transform(X)
    assert a.shape == b.shape
    assert (a.indptr == b.indptr).all()
    np.testing.assert_allclose(np.sort(a.data), np.sort(b.data), rtol=1e-4)


def test_a_pipeline_classifies_by_true_neighbors(digits):
    X, y = digits
    pipeline = make_pipeline(RankNeighborsTransformer(n_neighbors=9), KNeighborsClassifier(5, metric="precomputed"))
    theirs = KNeighborsClassifier(5).fit(X[:1200], y[:1200]).score(X[1200:], y[1200:])
    assert abs(pipeline.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) - theirs) < 0.01


def test_large_sets_are_searched_at_the_recall_asked_for(monkeypatch):
    monkeypatch.setattr("rankhash.vector_index._options.EXACT_NUMBERS", 0)
    X, Q = clustered(1, 5000), clustered(2, 200)
    true = NearestNeighbors(n_neighbors=10).fit(X).kneighbors(Q, return_distance=False)
    for recall in (0.8, 0.97):
        near = RankNeighbors(n_neighbors=10, recall=recall).fit(X)
        assert not near.index_.describe()["exact"]
        found = near.kneighbors(Q, return_distance=False)
        assert np.mean([np.isin(a, b).mean() for a, b in zip(found, true, strict=True)]) >= recall - 0.03
    own = near.kneighbors(return_distance=False)
    assert (own != np.arange(5000)[:, None]).all()
    assert own.shape == (5000, 10)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rerank": 2}, "rerank needs a hasher"),
        ({"metric": "dot"}, "metric must be"),
        ({"recall": 1.5}, "recall must be"),
        ({"index": "tree"}, "index must be"),
    ],
)
def test_bad_parameters_are_refused(rng, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        RankNeighbors(**parameters).fit(rng.normal(size=(9, 2)))


def test_bad_queries_are_refused(rng):
    near = RankNeighbors(metric="cosine").fit(rng.normal(size=(30, 3)))
    with pytest.raises(InvalidInputError, match="radius"):
        near.radius_neighbors(radius=-1)
    with pytest.raises(InvalidInputError, match="3"):
        near.kneighbors(rng.normal(size=(2, 4)))
    with pytest.raises(InvalidInputError, match="zero"):
        near.kneighbors(np.zeros((1, 3)))


def test_fitting_again_forgets_the_hasher(rng):
    X = rng.normal(size=(60, 5))
    near = RankNeighbors(LSH(16, random_state=0)).fit(X)
    assert near.hasher_ is not None
    near.set_params(hasher=None).fit(X)
    assert near.hasher_ is None
    assert near.kneighbors()[0][0, 0] == pytest.approx(NearestNeighbors().fit(X).kneighbors()[0][0, 0], rel=1e-4)

"""Neighbours by codes fit where scikit-learn's own neighbours do."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.manifold import TSNE, trustworthiness
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer, NearestNeighbors
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import oracles
from rankhash import ITQ, LSH, RSH, InvalidInputError, RankNeighbors, RankNeighborsTransformer

HASHER = LSH(48, center=True, random_state=0)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32), y


def test_kneighbors_are_the_nearest_codes(digits):
    X, _ = digits
    near = RankNeighbors(HASHER, n_neighbors=7).fit(X)
    symbols = near.hasher_.transform(X)
    distances, rows = near.kneighbors(X[:50])
    expected = oracles.nearest(oracles.hamming(symbols[:50], symbols), np.arange(len(X)), 7)
    np.testing.assert_array_equal(rows, expected[0])
    np.testing.assert_array_equal(distances, expected[1])
    np.testing.assert_array_equal(near.kneighbors(X[:50], 3, return_distance=False), rows[:, :3])


@pytest.mark.parametrize("index", ["lookup", "flat"])
def test_without_vectors_each_finds_the_others(digits, index):
    X, _ = digits
    X = np.vstack([X[:300], np.repeat(X[:1], 20, axis=0)])  # more equals than neighbours
    near = RankNeighbors(HASHER, n_neighbors=5, index=index).fit(X)
    distances, rows = near.kneighbors()
    assert rows.shape == distances.shape == (320, 5)
    assert (rows != np.arange(320)[:, None]).all()
    assert (distances[300:] == 0).all()
    symbols = near.hasher_.transform(X)
    apart = oracles.hamming(symbols, symbols)
    np.fill_diagonal(apart, np.inf)
    np.testing.assert_array_equal(distances, np.sort(apart, axis=1)[:, :5])


def test_radius_neighbors_are_all_within_the_radius(digits):
    X, _ = digits
    near = RankNeighbors(HASHER, radius=4).fit(X)
    symbols = near.hasher_.transform(X)
    apart = oracles.hamming(symbols, symbols)
    distances, rows = near.radius_neighbors(X[:30])
    for q in range(30):
        assert sorted(rows[q].tolist()) == np.flatnonzero(apart[q] <= 4).tolist()
        np.testing.assert_array_equal(distances[q], np.sort(apart[q][apart[q] <= 4]))
    alone = near.radius_neighbors(radius=2, return_distance=False)
    assert [sorted(row.tolist()) for row in alone] == [
        [int(i) for i in np.flatnonzero(apart[q] <= 2) if i != q] for q in range(len(X))
    ]


def test_reranked_neighbors_have_euclidean_distances_and_come_near_the_true_ones(digits):
    X, _ = digits
    true = NearestNeighbors(n_neighbors=5).fit(X).kneighbors(return_distance=False)
    distances, rows = RankNeighbors(HASHER, n_neighbors=5, rerank=10).fit(X).kneighbors()
    expected = np.linalg.norm(X[rows] - X[:, None, :], axis=2)
    np.testing.assert_allclose(distances, expected, rtol=1e-5)
    assert (np.diff(distances, axis=1) >= 0).all()
    recall = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(true.tolist(), rows.tolist(), strict=True)])
    plain = RankNeighbors(HASHER, n_neighbors=5).fit(X).kneighbors(return_distance=False)
    unranked = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(true.tolist(), plain.tolist(), strict=True)])
    assert recall > 0.85 > unranked
    few = X[:300]
    everything = RankNeighbors(HASHER, n_neighbors=5, rerank=100).fit(few).kneighbors()
    np.testing.assert_allclose(everything[0], NearestNeighbors(n_neighbors=5).fit(few).kneighbors()[0], rtol=1e-4)


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_graphs_have_the_form_of_scikit_learn(digits, mode):
    X, _ = digits
    ours = RankNeighborsTransformer(HASHER, n_neighbors=4, mode=mode, rerank=20)
    theirs = KNeighborsTransformer(n_neighbors=4, mode=mode)
    a, b = ours.fit_transform(X), theirs.fit_transform(X)
    assert a.shape == b.shape
    assert a.format == b.format == "csr"
    assert (np.diff(a.indptr) == np.diff(b.indptr)).all()
    assert a.dtype.kind == "f"
    assert a.nnz == (4 + (mode == "distance")) * len(X)
    assert (a != 0).multiply(b != 0).nnz > 0.85 * (b != 0).nnz
    assert ours.get_feature_names_out().shape == (len(X),)
    assert (ours.kneighbors_graph(n_neighbors=3).diagonal() == 0).all()
    assert ours.transform(X[:9]).shape == (9, len(X))


def test_classifier_of_scikit_learn_works_on_the_graph(digits):
    X, y = digits
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    pipeline = make_pipeline(
        RankNeighborsTransformer(RSH(32, arity=4, random_state=0), n_neighbors=9),
        KNeighborsClassifier(5, metric="precomputed"),
    )
    assert pipeline.fit(X_train, y_train).score(X_test, y_test) > 0.93
    search = GridSearchCV(
        pipeline, {"rankneighborstransformer__hasher": [LSH(64, random_state=0), ITQ(32, random_state=0)]}, cv=2
    )
    assert search.fit(X_train[:400], y_train[:400]).best_score_ > 0.8


def test_dbscan_finds_clusters_on_the_graph():
    X, y = make_blobs(600, centers=5, n_features=10, cluster_std=0.5, random_state=0)
    near = RankNeighbors(LSH(64, center=True, random_state=0), radius=6).fit(X)
    labels = DBSCAN(eps=6, min_samples=5, metric="precomputed").fit_predict(
        near.radius_neighbors_graph(X, mode="distance")
    )
    assert adjusted_rand_score(y, labels) > 0.95


def test_tsne_embeds_the_graph(digits):
    X = digits[0][:250]
    pipeline = make_pipeline(
        RankNeighborsTransformer(ITQ(64, random_state=0), n_neighbors=50, rerank=3),
        TSNE(metric="precomputed", init="random", perplexity=15, max_iter=250, random_state=0),
    )
    with threadpool_limits(1):
        placed = pipeline.fit_transform(X)
    assert placed.shape == (250, 2)
    assert trustworthiness(X, placed, n_neighbors=10) > 0.9


@pytest.mark.parametrize("k", [0, 401, 1.5, True])
def test_a_bad_number_of_neighbors_is_refused(digits, k):
    near = RankNeighbors(HASHER).fit(digits[0][:400])
    with pytest.raises(InvalidInputError, match="n_neighbors must be"):
        near.kneighbors(digits[0][:3], k)
    with pytest.raises(InvalidInputError, match="from 1 to 399"):
        near.kneighbors(n_neighbors=400)


def test_bad_parameters_are_refused(digits):
    X = digits[0][:50]
    for parameters, message in [
        ({"index": "tree"}, "index must be"),
        ({"rerank": -1}, "rerank"),
        ({"hasher": "lsh"}, "hasher must be"),
        ({"metric": "cosine"}, "is for true neighbours"),
        ({"metric": "manhattan"}, "metric must be"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            RankNeighbors(**{"hasher": HASHER} | parameters).fit(X)
    with pytest.raises(InvalidInputError, match="mode must be"):
        RankNeighborsTransformer(mode="graph").fit(X)
    with pytest.raises(NotFittedError):
        RankNeighbors().kneighbors(X)
    with pytest.raises(InvalidInputError, match="radius"):
        RankNeighbors(HASHER).fit(X).radius_neighbors(radius=-1)


def test_it_is_cloned_with_its_hasher_and_leaves_that_unfitted(digits):
    near = RankNeighborsTransformer(LSH(16), n_neighbors=3, rerank=2, index="flat")
    copy = clone(near)
    assert copy.get_params()["hasher__n_symbols"] == 16
    copy.fit(digits[0][:50])
    assert not hasattr(copy.hasher, "layout_")
    assert copy.hasher_.layout_.n_symbols == 16

"""Data of difficult shapes: the recall that was asked for is reached, and nothing breaks."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import VectorIndex

from . import brute

N = 1500


@pytest.fixture(autouse=True)
def _cells_for_few_vectors(monkeypatch):
    """Small sets go through their cells, too."""
    monkeypatch.setattr("rankhash.vector_index._engine.FEW_PASSING", 0)


def learned_from(X, metric="euclidean", **parameters):
    index = VectorIndex(metric, **{"n_cells": 16, "bytes_per_vector": 4, "verbose": False} | parameters)
    index.fit(X[::2]).add(X)
    assert not index.describe()["exact"]
    return index


def two_densities(rng):
    return np.where(np.arange(N)[:, None] % 2, 0.001, 1) * rng.normal(size=(N, 8)) + np.arange(N)[:, None] % 2 * 3


SHAPES = {
    "one dimension": lambda rng: rng.normal(size=(N, 1)),
    "two dimensions": lambda rng: rng.normal(size=(N, 2)),
    "a line in space": lambda rng: rng.normal(size=(N, 1)) * np.ones(8) + 1e-3 * rng.normal(size=(N, 8)),
    "a grid of copies": lambda rng: rng.integers(0, 3, (N, 4)),
    "ten vectors again and again": lambda rng: rng.normal(size=(10, 8))[rng.integers(0, 10, N)],
    "clusters of different density": two_densities,
    "far from the origin": lambda rng: rng.normal(size=(N, 8)) + 1000,
    "tiny numbers": lambda rng: rng.normal(size=(N, 8)) * 1e-12,
    "large numbers": lambda rng: rng.normal(size=(N, 8)) * 1e12,
    "dimensions of different size": lambda rng: rng.normal(size=(N, 8)) * 10.0 ** np.arange(-4, 4),
    "one outlier": lambda rng: np.concatenate([rng.normal(size=(N - 1, 8)), np.full((1, 8), 1e5)]),
    "mostly zeros": lambda rng: rng.normal(size=(N, 16)) * (rng.random((N, 16)) < 0.1),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_recall_holds_for_vectors_of_the_index(rng, shape):
    X = shape(rng).astype(np.float32)
    found = learned_from(X).search(X[:100])
    assert (found.ids >= 0).all()
    assert brute.recall(found.ids, X[:100], X, "euclidean") >= 0.92


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_constant_vectors_are_found_at_their_one_distance(metric):
    X = np.full((N, 6), 0.5, np.float32)
    found = learned_from(X, metric).search(X[:3])
    assert (found.ids >= 0).all()
    np.testing.assert_allclose(found.distances, 0, atol=1e-6)


@pytest.mark.parametrize("metric", brute.METRICS)
@pytest.mark.parametrize("scale", [3, 1e4])
def test_queries_far_from_all_vectors_get_true_distances_in_order(rng, metric, scale):
    X, Q = brute.clustered(5, N), (rng.normal(size=(40, 12)) * scale).astype(np.float32)
    found = learned_from(X, metric).search(Q)
    assert (found.ids >= 0).all()
    truth = np.take_along_axis(brute.distances(Q, X, metric), found.ids, axis=1)
    np.testing.assert_allclose(found.distances, truth, rtol=1e-4, atol=1e-5)
    assert (np.diff(found.distances, axis=1) >= 0).all()


def test_inner_products_of_vectors_of_very_different_length_reach_the_recall(rng):
    X = (brute.clustered(6, N) * rng.lognormal(0, 1, (N, 1))).astype(np.float32)
    Q = brute.clustered(7, 100)
    assert brute.recall(learned_from(X, "dot").search(Q).ids, Q, X, "dot") >= 0.92


@pytest.mark.parametrize("d", [3, 17, 40])
def test_any_dimension_works(rng, d):
    X = (rng.normal(size=(N, 3)) @ rng.normal(size=(3, d)) + 0.1 * rng.normal(size=(N, d))).astype(np.float32)
    assert brute.recall(learned_from(X).search(X[:60]).ids, X[:60], X, "euclidean") >= 0.92


def test_more_cells_than_vectors_are_not_made(rng):
    X = rng.normal(size=(50, 4)).astype(np.float32)
    index = VectorIndex("euclidean", n_cells=1000, bytes_per_vector=4, verbose=False)
    index.fit(X).add(X)
    assert index.describe()["n_cells"] <= 50
    np.testing.assert_array_equal(index.search(X, 1).ids[:, 0], np.arange(50))


def test_one_cell_and_one_vector_are_enough():
    index = VectorIndex("cosine", n_cells=1, bytes_per_vector=4, verbose=False)
    index.fit([[1.0, 2.0]]).add([[1.0, 2.0]])
    assert index.search([[2.0, 4.0]], k=1).ids[0, 0] == 0


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("kind", ["far away", "very far away", "outside of two vectors"])
def test_queries_unlike_the_vectors_reach_the_recall(rng, metric, kind):
    X = brute.clustered(5, 5000)
    a, b = X[rng.integers(0, len(X), (2, 200))]
    Q = {
        "far away": rng.normal(size=(200, 12)) * 3,
        "very far away": rng.normal(size=(200, 12)) * 100,
        "outside of two vectors": 3 * a - 2 * b,
    }[kind].astype(np.float32)
    index = learned_from(X, metric, n_cells=32)
    for k in (1, 10, 100):
        assert brute.recall(index.search(Q, k).ids, Q, X, metric) >= 0.94

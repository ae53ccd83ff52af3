"""What a VectorIndex must find, by NumPy in float64, and data to look for it in."""

from __future__ import annotations

import numpy as np

from rankhash import _kernels

METRICS = ["cosine", "euclidean", "dot"]


def clustered(seed, n, d=12, n_clusters=40):
    """Vectors around common centres, not all equally dense."""
    centres = np.random.default_rng(99).normal(size=(n_clusters, d))
    rng = np.random.default_rng(seed)
    widths = np.linspace(0.1, 0.5, n_clusters)
    chosen = rng.integers(0, n_clusters, n)
    return (centres[chosen] + rng.normal(size=(n, d)) * widths[chosen, None]).astype(np.float32)


def distances(queries, vectors, metric):
    """Distances (n_queries, n) in float64."""
    q, x = np.asarray(queries, np.float64), np.asarray(vectors, np.float64)
    if metric == "dot":
        return -q @ x.T
    if metric == "cosine":
        return 1 - (q / np.linalg.norm(q, axis=1)[:, None]) @ (x / np.linalg.norm(x, axis=1)[:, None]).T
    return np.sqrt(np.maximum(np.square(q[:, None] - x).sum(axis=2), 0))


def nearest(queries, vectors, k, metric, ids=None):
    """Ids (n_queries, k) in the order (distance, id), and their distances."""
    ids = np.arange(len(vectors)) if ids is None else np.asarray(ids)
    all_distances = distances(queries, vectors, metric)
    order = np.array([np.lexsort((ids, row))[:k] for row in all_distances])
    return ids[order], np.take_along_axis(all_distances, order, axis=1)


def recall(found, queries, vectors, metric):
    """The share of found vectors that are no farther away than the k-th true neighbour, ids being row numbers."""
    truth = distances(queries, vectors, metric)
    limit = np.sort(truth, axis=1)[:, found.shape[1] - 1]
    limit = limit + 1e-5 * np.abs(limit) + 1e-6
    mine = np.where(found >= 0, np.take_along_axis(truth, np.maximum(found, 0), axis=1), np.inf)
    return float((mine <= limit[:, None]).mean())


def rows_view(vectors, dtype, split=0):
    """Stored vectors, of which the first ``split`` lie in the head; and what their elements and factors are."""
    factors = None
    if dtype == "int8":
        factors = np.maximum(np.abs(vectors).max(axis=1) / np.float32(127), np.float32(1e-30))
        vectors = np.rint(vectors / factors[:, None])
    stored = np.ascontiguousarray(vectors.astype(dtype))
    raw = stored.view(np.uint8)
    return _kernels.RowsView(raw[:split], raw[split:], len(raw), factors, stored.shape[1], dtype), stored, factors

"""Centroids of cells: k-means, and which centroid is nearest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import _kernels
from .._types import F32, I32, I64

KMEANS_ROUNDS = 6

LARGEST_SQUARE = 3e38
"""Squared lengths of centroids are at most this, so that they are float32 numbers."""


def kmeans(points: F32, n_cells: int, rng: np.random.Generator, n_threads: int, on_step: Callable[[], None]) -> F32:
    """Centroids ``(n_cells, d)``: means of the points nearest to them, after some rounds from random points.

    A centroid without points moves beside one of the largest cells.
    """
    centroids: F32 = points[rng.permutation(len(points))[:n_cells]].copy()
    for _ in range(KMEANS_ROUNDS):
        cells = nearest_centroids(points, centroids, n_threads)
        order = np.argsort(cells, kind="stable")
        counts = np.bincount(cells, minlength=len(centroids))
        used = counts > 0
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        sums = np.add.reduceat(points[order], starts[used], axis=0)
        centroids[used] = sums / counts[used, None].astype(np.float32)
        _revive(centroids, counts, points, rng)
        on_step()
    return centroids


def nearest_centroids(points: F32, centroids: F32, n_threads: int) -> I32:
    """The number of the nearest centroid of each point."""
    squares = squared_lengths(centroids)
    return _kernels.assign_cells(np.ascontiguousarray(points), _kernels.as_panels(-2 * centroids), squares, n_threads)[
        0
    ]


def squared_lengths(rows: F32) -> F32:
    """Squared lengths ``(n,)`` of rows."""
    squares: F32 = np.minimum(np.square(rows, dtype=np.float64).sum(axis=1), LARGEST_SQUARE).astype(np.float32)
    return squares


def _revive(centroids: F32, counts: I64, points: F32, rng: np.random.Generator) -> None:
    """Put centroids without points beside those of the largest cells, a hundredth of a typical deviation away."""
    empty = np.flatnonzero(counts == 0)
    if len(empty):
        largest = np.argsort(-counts, kind="stable")[: len(empty)]
        deviation = points.std(axis=0) / 100
        centroids[empty] = centroids[largest] + deviation * rng.standard_normal((len(empty), points.shape[1]))

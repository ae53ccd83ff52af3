"""Exact nearest neighbours by brute force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Ids = NDArray[np.int64]

DEPTH = 100  # neighbours stored per query
SPARE = 100  # further candidates from float32
ROUNDING = 1e-5  # of a float32 product, relative to the lengths of its factors
QUERY_BLOCK = 250
BASE_BLOCK = 100_000


@dataclass(frozen=True)
class Truth:
    """Nearest neighbours: ``ids`` (n_queries, depth), by distance and then id, with their ``distances``."""

    ids: NDArray[np.int32]
    distances: F64


def exact_neighbors(base: F32, queries: F32, metric: str, depth: int = DEPTH) -> Truth:
    """The ``depth`` nearest rows of ``base`` for each query, computed in float64 from float32 candidates.

    Queries whose last candidate is not clearly farther than the last neighbour are compared with every row in float64.
    """
    depth = min(depth, len(base))
    longest = float(np.sqrt(np.einsum("ij,ij->i", base, base).max()))
    ids = np.empty((len(queries), depth), dtype=np.int32)
    distances = np.empty((len(queries), depth))
    for start in range(0, len(queries), QUERY_BLOCK):
        block = queries[start : start + QUERY_BLOCK]
        rows = slice(start, start + len(block))
        candidates = _candidates(base, block, metric, min(depth + SPARE, len(base)))
        exact = pair_distances(base, block, candidates, metric)
        ids[rows], distances[rows] = _nearest(candidates, exact, depth)
        errors = ROUNDING * longest * (longest + np.linalg.norm(block, axis=1))
        unsure = exact.max(axis=1) <= distances[rows, -1] + errors
        for row in np.flatnonzero(unsure) if candidates.shape[1] < len(base) else ():
            everything = np.arange(len(base))[None]
            full = pair_distances(base, block[row : row + 1], everything, metric)
            ids[start + row], distances[start + row] = _nearest(everything, full, depth)
    return Truth(ids, distances)


def pair_distances(base: F32, queries: F32, ids: NDArray[Any], metric: str) -> F64:
    """Distance in float64 from each query to each of its ``ids`` (n_queries, m); cosine rows have unit length.

    Euclidean distances are squared; for dot products and cosine the distance is −q·x.
    """
    out = np.empty(ids.shape)
    for row, (query, found) in enumerate(zip(queries.astype(np.float64), ids, strict=True)):
        points = base[found].astype(np.float64)
        out[row] = ((points - query) ** 2).sum(axis=1) if metric == "euclidean" else -(points @ query)
    return out


def _nearest(ids: Ids, distances: F64, depth: int) -> tuple[Ids, F64]:
    """The first ``depth`` columns by distance and then id."""
    order = np.lexsort((ids, distances), axis=1)[:, :depth]
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(distances, order, axis=1)


def _candidates(base: F32, queries: F32, metric: str, m: int) -> Ids:
    """Ids of the ``m`` best rows per query in float32, in no order."""
    scores = np.empty((len(queries), 0), dtype=np.float32)
    ids = np.empty((len(queries), 0), dtype=np.int64)
    for start in range(0, len(base), BASE_BLOCK):
        block = base[start : start + BASE_BLOCK]
        found = queries @ block.T
        if metric == "euclidean":
            found -= 0.5 * np.einsum("ij,ij->i", block, block)
        numbers = np.broadcast_to(np.arange(start, start + len(block)), found.shape)
        scores, ids = _best(np.hstack([scores, found]), np.hstack([ids, numbers]), m)
    return ids


def _best(scores: F32, ids: Ids, m: int) -> tuple[F32, Ids]:
    if scores.shape[1] <= m:
        return scores, ids
    kept = np.argpartition(-scores, m - 1, axis=1)[:, :m]
    return np.take_along_axis(scores, kept, axis=1), np.take_along_axis(ids, kept, axis=1)

"""Merging the answers of several shards, ordered by (distance, id)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..neighbors import Neighbors, RadiusNeighbors


def merge_neighbors(parts: Sequence[Neighbors], k: int) -> Neighbors:
    """The k nearest of all parts, each ``(n_queries, any number)``; no id occurs in two parts.

    >>> one = Neighbors(np.array([[4, 7]]), np.array([[1, 3]], np.float32))
    >>> other = Neighbors(np.array([[2, -1]]), np.array([[1, np.inf]], np.float32))
    >>> merge_neighbors([one, other], k=2)
    Neighbors(ids=array([[2, 4]]), distances=array([[1., 1.]], dtype=float32))
    """
    ids = np.concatenate([part.ids for part in parts], axis=1)
    distances = np.concatenate([part.distances for part in parts], axis=1)
    order = np.lexsort((ids, distances), axis=1)[:, :k]
    return Neighbors(np.take_along_axis(ids, order, axis=1), np.take_along_axis(distances, order, axis=1))


def merge_radius(parts: Sequence[RadiusNeighbors]) -> RadiusNeighbors:
    """The neighbours of all parts per query; all parts answer the same queries.

    >>> one = RadiusNeighbors(np.array([0, 1, 2]), np.array([4, 7]), np.array([1, 0], np.float32))
    >>> other = RadiusNeighbors(np.array([0, 1, 1]), np.array([2]), np.array([1], np.float32))
    >>> merged = merge_radius([one, other])
    >>> merged.offsets.tolist(), merged.ids.tolist()
    ([0, 2, 3], [2, 4, 7])
    """
    counts = [np.diff(part.offsets) for part in parts]
    queries = np.concatenate([np.repeat(np.arange(len(count)), count) for count in counts])
    ids = np.concatenate([part.ids for part in parts])
    distances = np.concatenate([part.distances for part in parts])
    order = np.lexsort((ids, distances, queries))
    offsets = np.concatenate([[0], np.cumsum(np.sum(counts, axis=0))]).astype(np.int64)
    return RadiusNeighbors(offsets, ids[order], distances[order])

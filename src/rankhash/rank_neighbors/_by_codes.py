"""Neighbours by the codes of a hasher, optionally re-ranked by the vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import F32, I64
from ..hashers import Hasher
from ..index import FlatIndex, Index, LookupIndex
from ..neighbors import Neighbors, RadiusNeighbors
from ..vectors import as_vectors

INDEXES: dict[str, type[Index]] = {"lookup": LookupIndex, "flat": FlatIndex}
_RERANK_FLOATS = 1 << 24
"""Upper limit of the floats that re-ranking holds in memory at a time."""


class ByCodes:
    """Vectors as codes of a fitted hasher in an index; ids are row numbers.

    With ``rerank > 0`` the vectors are kept, and ``rerank`` candidates per neighbour are ordered by Euclidean distance.
    """

    def __init__(self, hasher: Hasher, vectors: F32, kind: str, rerank: int) -> None:
        self.hasher, self.rerank = hasher, rerank
        self._codes = hasher.encode(vectors)
        self._vectors = vectors if rerank else None
        self.index = INDEXES[kind](hasher.layout_)
        self.index.add(self._codes)

    def nearest(self, X: Any, k: int, n_threads: int | None) -> Neighbors:
        """The k nearest of each query; ``X=None`` stands for the fitted vectors."""
        codes = self._codes if X is None else self.hasher.encode(X)
        if self._vectors is None:
            return self.index.search(codes, k, n_threads=n_threads)
        n_candidates = min(len(self.index), k * self.rerank)
        rows = self.index.search(codes, n_candidates, n_threads=n_threads).ids
        queries = self._vectors if X is None else as_vectors(X, owner="RankNeighbors")
        return _rerank(self._vectors, queries, rows, k)

    def within(self, X: Any, radius: Any, n_threads: int | None) -> RadiusNeighbors:
        """All within a number of differing symbols of each query."""
        codes = self._codes if X is None else self.hasher.encode(X)
        return self.index.search_radius(codes, radius, n_threads=n_threads)


def _rerank(vectors: F32, queries: F32, rows: I64, k: int) -> Neighbors:
    """The k nearest of each query's candidates ``rows``, ordered by (Euclidean distance, row)."""
    distances, best = np.empty((len(rows), k), np.float32), np.empty((len(rows), k), np.int64)
    step = max(1, _RERANK_FLOATS // max(1, rows.shape[1] * vectors.shape[1]))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        apart = vectors[rows[part]] - queries[part, None, :]
        lengths = np.sqrt(np.einsum("qkd,qkd->qk", apart, apart))
        order = np.lexsort((rows[part], lengths))[:, :k]
        distances[part] = np.take_along_axis(lengths, order, axis=1)
        best[part] = np.take_along_axis(rows[part], order, axis=1)
    return Neighbors(best, distances)

"""True neighbours, by a VectorIndex."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_radius
from .._types import F32, I64
from ..neighbors import Neighbors, RadiusNeighbors
from ..vector_index import VectorIndex
from ..vectors import as_vectors

FIRST_K, GROWTH = 64, 4
"""Initial k of a search within a radius, and its growth factor for queries that have more neighbours."""

_ANSWERS = 1 << 22
"""Upper limit of the neighbours that one step of a search within a radius holds."""


class ByVectors:
    """Vectors in a `VectorIndex`; ids are row numbers. ``owner`` is the name of the estimator, for messages."""

    def __init__(self, index: VectorIndex, vectors: F32, owner: str) -> None:
        self.index, self._vectors, self._owner = index, vectors, owner
        index.add(vectors)

    def nearest(self, X: Any, k: int, n_threads: int | None) -> Neighbors:
        """The k nearest of each query at the recall of the index; ``X=None`` stands for the fitted vectors."""
        return self.index.search(self._queries(X), k, n_threads=n_threads)

    def within(self, X: Any, radius: Any, n_threads: int | None) -> RadiusNeighbors:
        """All within a true distance of each query, found exactly."""
        limit, queries = check_radius(radius), self._queries(X)
        hits: list[Neighbors] = [Neighbors(np.empty((1, 0), np.int64), np.empty((1, 0), np.float32))] * len(queries)
        waiting, k = np.arange(len(queries)), min(FIRST_K, len(self.index))
        while len(waiting):
            more = [self._step(queries, part, k, limit, hits, n_threads) for part in _parts(waiting, k)]
            waiting, k = np.concatenate(more), min(GROWTH * k, len(self.index))
        counts = [found.ids.shape[1] for found in hits]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        ids = np.concatenate([np.empty(0, np.int64), *(found.ids[0] for found in hits)])
        distances = np.concatenate([np.empty(0, np.float32), *(found.distances[0] for found in hits)])
        return RadiusNeighbors(offsets, ids, distances)

    def _step(
        self, queries: F32, chosen: I64, k: int, limit: float, hits: list[Neighbors], n_threads: int | None
    ) -> I64:
        """The queries that have more than k neighbours within the limit; ``hits`` of the others are filled."""
        found = self.index.search(queries[chosen], k, exact=True, n_threads=n_threads)
        inside = (found.distances <= limit).sum(axis=1)
        full = (inside == k) & (k < len(self.index))
        for row in np.flatnonzero(~full):
            part = (slice(row, row + 1), slice(0, inside[row]))
            hits[chosen[row]] = Neighbors(found.ids[part].copy(), found.distances[part].copy())
        more: I64 = chosen[full]
        return more

    def _queries(self, X: Any) -> F32:
        return self._vectors if X is None else as_vectors(X, n_features=self.index.n_features, owner=self._owner)


def _parts(waiting: I64, k: int) -> list[I64]:
    """Queries in groups whose answers fit in memory."""
    step = max(1, _ANSWERS // k)
    return [waiting[start : start + step] for start in range(0, len(waiting), step)]

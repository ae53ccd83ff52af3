"""The answers of searches: `Neighbors`, or `RadiusNeighbors` where the number of neighbours varies."""

from __future__ import annotations

from typing import NamedTuple

from ._types import F32, I64


class Neighbors(NamedTuple):
    """The k nearest neighbours of each query, nearest first; of equal distances the smaller id comes first.

    If there are fewer than k neighbours, the remaining places have id -1 and an infinite distance.

    Examples
    --------
    >>> import numpy as np
    >>> found = Neighbors(np.array([[7, 3]]), np.array([[0.0, 2.0]], np.float32))
    >>> found.ids[0, 0], found.distances.shape
    (np.int64(7), (1, 2))
    """

    ids: I64
    """Ids of the neighbours, (n_queries, k)"""

    distances: F32
    """Distances of the neighbours, (n_queries, k)"""


class RadiusNeighbors(NamedTuple):
    """All neighbours within a radius of each query, query by query, in the order of [`Neighbors`][rankhash.Neighbors].

    Examples
    --------
    >>> import numpy as np
    >>> found = RadiusNeighbors(np.array([0, 2, 2]), np.array([7, 3]), np.array([0.0, 2.0], np.float32))
    >>> found.query(0).ids
    array([[7, 3]])
    >>> found.query(1).ids.shape
    (1, 0)
    """

    offsets: I64
    """(n_queries + 1,); the neighbours of query i are those from ``offsets[i]`` to ``offsets[i + 1] - 1``"""

    ids: I64
    """Ids of all neighbours, (n_hits,)"""

    distances: F32
    """Distances of all neighbours, (n_hits,)"""

    def query(self, i: int) -> Neighbors:
        """The neighbours of query ``i``, with arrays of the shape ``(1, n)``."""
        hits = slice(self.offsets[i], self.offsets[i + 1])
        return Neighbors(self.ids[None, hits], self.distances[None, hits])

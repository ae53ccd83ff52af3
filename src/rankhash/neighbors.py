"""What every search returns: :class:`Neighbors`, or :class:`RadiusNeighbors` where the number of hits varies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Neighbors(NamedTuple):
    """The k nearest codes of each query, nearest first; of equal distances the smaller id comes first.

    Places that could not be filled have id -1 and an infinite distance.

    Examples
    --------
    >>> found = Neighbors(np.array([[7, 3]]), np.array([[0.0, 2.0]], np.float32))
    >>> found.ids[0, 0], found.distances.shape
    (np.int64(7), (1, 2))
    """

    ids: NDArray[np.int64]
    """(n_queries, k)"""

    distances: NDArray[np.float32]
    """(n_queries, k)"""


class RadiusNeighbors(NamedTuple):
    """All codes within a radius of each query, row after row, in the order of :class:`Neighbors`.

    Examples
    --------
    >>> found = RadiusNeighbors(np.array([0, 2, 2]), np.array([7, 3]), np.array([0.0, 2.0], np.float32))
    >>> found.query(0).ids
    array([[7, 3]])
    >>> found.query(1).ids.shape
    (1, 0)
    """

    offsets: NDArray[np.int64]
    """(n_queries + 1,): the hits of query i are those from ``offsets[i]`` to ``offsets[i + 1]``"""

    ids: NDArray[np.int64]
    """(n_hits,)"""

    distances: NDArray[np.float32]
    """(n_hits,)"""

    def query(self, i: int) -> Neighbors:
        """The hits of query ``i`` as one row."""
        hits = slice(self.offsets[i], self.offsets[i + 1])
        return Neighbors(self.ids[None, hits], self.distances[None, hits])

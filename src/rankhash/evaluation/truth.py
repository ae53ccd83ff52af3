"""What a query should find: its exact neighbours, those within a radius, or those of its class; in blocks.

::

    exact_neighbors(queries, database, k)   the k nearest, ties by id
    average_radius(vectors, 50)             the distance that gives 50 neighbours on average
    neighbor_radius(vectors, 50)            what the paper's sources take for it
    RadiusTruth | ClassTruth | IdTruth      who is relevant to whom, a block at a time
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from ..neighbors import Neighbors
from ..similarity import MetricNeighbors
from ..vectors import as_vectors

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Bools = NDArray[np.bool_]

METRICS = ("euclidean", "cosine", "inner_product")
BLOCK_FLOATS = 1 << 22
ROUNDING = 1e-11
"""Relative error that a matrix product in float64 stays below; what lies so close is compared exactly."""


class Truth(ABC):
    """Who is relevant to whom."""

    @abstractmethod
    def block(self, queries: slice, items: slice) -> Bools:
        """Whether each of some items is relevant to each of some queries, ``(n_queries, n_items)``."""


class RadiusTruth(Truth):
    """Relevant is what is closer than ``radius`` by Euclidean distance.

    >>> RadiusTruth([[0.0]], [[1.0], [3.0]], 2.0).block(slice(0, 1), slice(0, 2))
    array([[ True, False]])
    """

    def __init__(self, queries: Any, database: Any, radius: float) -> None:
        self.queries, self.database, self.radius = np.asarray(queries), np.asarray(database), radius
        self._last: tuple[tuple[slice, slice], Bools] | None = None

    def block(self, queries: slice, items: slice) -> Bools:
        """Whether their distance is below the radius; the last block is remembered, for the next hasher's codes."""
        if self._last is None or self._last[0] != (queries, items):
            near = euclidean(self.queries[queries], self.database[items]) < self.radius
            near.flags.writeable = False
            self._last = (queries, items), near
        return self._last[1]


class ClassTruth(Truth):
    """Relevant is what has the same class, or for indicator matrices ``(n, n_classes)`` shares one.

    >>> ClassTruth([3], [3, 4]).block(slice(0, 1), slice(0, 2))
    array([[ True, False]])
    """

    def __init__(self, queries: Any, database: Any) -> None:
        self.queries, self.database = np.asarray(queries), np.asarray(database)

    def block(self, queries: slice, items: slice) -> Bools:
        """Whether they share a class."""
        here, there = self.queries[queries], self.database[items]
        if here.ndim == 2:
            shared: Bools = here.astype(np.float32) @ there.astype(np.float32).T > 0
            return shared
        same: Bools = here[:, None] == there
        return same


class IdTruth(Truth):
    """Relevant are the rows of the database whose numbers are given, ``(n_queries, k)``; -1 means none.

    >>> IdTruth([[1, -1]]).block(slice(0, 1), slice(0, 2))
    array([[False,  True]])
    """

    def __init__(self, ids: Any) -> None:
        self.ids = np.asarray(ids)

    def block(self, queries: slice, items: slice) -> Bools:
        """Whether the item is one of the query's ids."""
        places = self.ids[queries] - items.start
        inside = (places >= 0) & (places < items.stop - items.start)
        relevant = np.zeros((len(places), items.stop - items.start), np.bool_)
        relevant[np.nonzero(inside)[0], places[inside]] = True
        return relevant


def exact_neighbors(queries: Any, database: Any, k: int, *, metric: str = "euclidean") -> Neighbors:
    """The k nearest rows of the database to each query, in the order (distance, row), found in blocks.

    Parameters
    ----------
    queries, database
        Vectors ``(n_queries, d)`` and ``(n, d)``.
    k
        From 1 to n.
    metric
        ``"euclidean"``, ``"cosine"`` (1 - cosine) or ``"inner_product"`` (its negative). A matrix product finds the
        candidates; each of them is then compared one by one in float64, so that equal vectors are exact ties.

    Examples
    --------
    >>> exact_neighbors([[0, 0]], [[3, 4], [1, 0], [1, 0]], 2)
    Neighbors(ids=array([[1, 2]]), distances=array([[1., 1.]], dtype=float32))
    """
    base, asked = _comparable(database, queries, metric)
    if not 1 <= k <= len(base):
        raise InvalidInputError(f"k must lie between 1 and the {len(base)} vectors of the database, got {k}")
    columns = max(k, min(len(base), BLOCK_FLOATS >> 6))
    rows = max(1, BLOCK_FLOATS // columns)
    ids, distances = np.empty((len(asked), k), np.int64), np.empty((len(asked), k), np.float32)
    for first in range(0, len(asked), rows):
        block = asked[first : first + rows]
        best = [(np.empty(0), np.empty(0, np.int64))] * len(block)
        for start in range(0, len(base), columns):
            best = _merge(best, block, base[start : start + columns], start, k, metric)
        for place, (far, found) in enumerate(best):
            ids[first + place], distances[first + place] = found, far
    return Neighbors(ids, distances)


def distances_to(queries: Any, database: Any, ids: I64, *, metric: str = "euclidean") -> F32:
    """The distances ``(n_queries, k)`` of each query to its rows ``ids`` of the database; -1 is infinitely far.

    >>> distances_to([[0, 0]], [[3, 4], [1, 0]], np.array([[1, 0, -1]]))
    array([[ 1.,  5., inf]], dtype=float32)
    """
    base, asked = _comparable(database, queries, metric)
    far = np.stack([_exact(query, base, row, metric) for query, row in zip(asked, ids, strict=True)])
    return np.where(ids < 0, np.inf, far).astype(np.float32)


def _comparable(database: Any, queries: Any, metric: str) -> tuple[F64, F64]:
    """Both in float64, at unit length if directions are compared."""
    if metric not in METRICS:
        raise InvalidInputError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
    base = as_vectors(database, name="database").astype(np.float64)
    asked = as_vectors(queries, n_features=base.shape[1], name="queries", owner="the database").astype(np.float64)
    if metric == "cosine":
        base, asked = unit_rows(base, "database"), unit_rows(asked, "queries")
    return base, asked


Best = list[tuple[F64, I64]]


def _merge(best: Best, queries: F64, items: F64, start: int, k: int, metric: str) -> Best:
    """The best k of each query so far, after some further items."""
    products = queries @ items.T
    lengths, sizes = np.einsum("ij,ij->i", items, items), np.einsum("ij,ij->i", queries, queries)
    rough = lengths - 2 * products if metric == "euclidean" else -products
    slack = ROUNDING * (np.sqrt(sizes.max() * lengths.max()) + sizes.max() + lengths.max())
    limit = np.full(len(queries), np.inf)
    if k < len(items):
        limit = np.partition(rough, k - 1, axis=1)[:, k - 1] + slack
    merged = []
    for query, row, most, (far, ids) in zip(queries, rough, limit, best, strict=True):
        near = np.flatnonzero(row <= most)
        all_far = np.concatenate([far, _exact(query, items, near, metric)])
        all_ids = np.concatenate([ids, near + start])
        order = np.lexsort((all_ids, all_far))[:k]
        merged.append((all_far[order], all_ids[order]))
    return merged


def _exact(query: F64, items: F64, rows: I64, metric: str) -> F64:
    """The distances of a query to some rows, each computed by itself in one order."""
    far = np.empty(len(rows))
    step = max(1, BLOCK_FLOATS // items.shape[1])
    for start in range(0, len(rows), step):
        part = items[rows[start : start + step]]
        if metric == "euclidean":
            far[start : start + step] = np.sqrt(((part - query) ** 2).sum(axis=1))
        else:
            far[start : start + step] = (metric == "cosine") - (part * query).sum(axis=1)
    return far


def neighbor_radius(vectors: Any, n_neighbors: int = 50) -> float:
    """The distance that the paper's sources take for ``n_neighbors`` neighbours on average.

    It is the mean distance of the vectors to the ``n_neighbors``-th entry of their sorted row, themselves included;
    where vectors lie unevenly they have more neighbours than that within it. See :func:`average_radius`.

    >>> neighbor_radius([[0.0], [1.0], [3.0]], 2)
    1.3333333333333333
    """
    points = np.asarray(vectors, np.float64)
    if not 1 <= n_neighbors <= len(points):
        raise InvalidInputError(f"{n_neighbors} neighbours cannot be told among {len(points)} vectors; take fewer")
    total = 0.0
    step = max(1, BLOCK_FLOATS // len(points))
    for start in range(0, len(points), step):
        far = euclidean(points[start : start + step], points)
        total += float(np.partition(far, n_neighbors - 1, axis=1)[:, n_neighbors - 1].sum())
    return total / len(points)


def average_radius(vectors: Any, n_neighbors: int = 50, *, random_state: int = 0) -> float:
    """The distance within which a vector has ``n_neighbors`` others on average.

    Up to 4096 vectors it is exact; of more, it comes from the distances of 2048 random ones to all others.

    >>> round(average_radius([[0.0], [1.0], [5.0], [6.0], [20.0]], 1), 3)
    1.0
    """
    return MetricNeighbors(as_vectors(vectors), n_neighbors, np.random.default_rng(random_state)).radius


def euclidean(a: NDArray[Any], b: NDArray[Any]) -> F64:
    """Euclidean distances ``(len(a), len(b))`` by a matrix product in float64."""
    a, b = a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)
    squares = np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b) - 2 * (a @ b.T)
    distances: F64 = np.sqrt(np.maximum(squares, 0))
    return distances


def unit_rows(vectors: F64, name: str) -> F64:
    """The rows at unit length; an error if one is zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not lengths.all():
        row = int(np.flatnonzero(lengths == 0)[0])
        raise InvalidInputError(f"row {row} of {name} is zero and has no direction; drop it or take another metric")
    unit: F64 = vectors / lengths
    return unit

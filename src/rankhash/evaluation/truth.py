"""Ground truth: exact neighbours, neighbours within a radius, or items of the same class; computed in blocks.

::

    exact_neighbors(queries, database, k)   the k nearest, ties by id
    average_radius(vectors, 50)             the distance that gives 50 neighbours on average
    neighbor_radius(vectors, 50)            the approximation of it in the paper's sources
    RadiusTruth | ClassTruth | IdTruth      which items are relevant to which query, block by block
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .._types import F32, F64, I64, Array, Flags
from ..errors import InvalidInputError
from ..neighbors import Neighbors
from ..similarity import MetricNeighbors
from ..vectors import as_vectors

METRICS = ("euclidean", "cosine", "inner_product")
BLOCK_FLOATS = 1 << 22
ROUNDING = 1e-11
"""Bound on the relative error of a matrix product in float64; candidates within this error are compared exactly."""


class Truth(ABC):
    """Which items are relevant to which query."""

    @abstractmethod
    def block(self, queries: slice, items: slice) -> Flags:
        """Relevance of a block of items to a block of queries, boolean ``(n_queries, n_items)``."""


class RadiusTruth(Truth):
    """Items closer than a radius are relevant (Euclidean distance).

    Parameters
    ----------
    queries, database
        Vectors ``(n_queries, d)`` and ``(n, d)``.
    radius
        Items at this distance or farther are not relevant.

    Examples
    --------
    >>> RadiusTruth([[0.0]], [[1.0], [3.0]], 2.0).block(slice(0, 1), slice(0, 2))
    array([[ True, False]])
    """

    def __init__(self, queries: Any, database: Any, radius: float) -> None:
        self.queries, self.database, self.radius = np.asarray(queries), np.asarray(database), radius
        self._last: tuple[tuple[slice, slice], Flags] | None = None

    def block(self, queries: slice, items: slice) -> Flags:
        """Whether distances are below the radius; the last block is cached, for the codes of the next hasher."""
        if self._last is None or self._last[0] != (queries, items):
            near = euclidean(self.queries[queries], self.database[items]) < self.radius
            near.flags.writeable = False
            self._last = (queries, items), near
        return self._last[1]


class ClassTruth(Truth):
    """Items of the same class are relevant.

    Parameters
    ----------
    queries, database
        One class per item, ``(n,)``; or indicator matrices ``(n, n_classes)``, where items that share a class are
        relevant to each other.

    Examples
    --------
    >>> ClassTruth([3], [3, 4]).block(slice(0, 1), slice(0, 2))
    array([[ True, False]])
    """

    def __init__(self, queries: Any, database: Any) -> None:
        self.queries, self.database = np.asarray(queries), np.asarray(database)

    def block(self, queries: slice, items: slice) -> Flags:
        """Whether query and item share a class."""
        here, there = self.queries[queries], self.database[items]
        if here.ndim == 2:
            shared: Flags = here.astype(np.float32) @ there.astype(np.float32).T > 0
            return shared
        same: Flags = here[:, None] == there
        return same


class IdTruth(Truth):
    """The listed rows of the database are relevant.

    Parameters
    ----------
    ids
        Row numbers of the relevant items, ``(n_queries, k)``; -1 marks an empty place.

    Examples
    --------
    >>> IdTruth([[1, -1]]).block(slice(0, 1), slice(0, 2))
    array([[False,  True]])
    """

    def __init__(self, ids: Any) -> None:
        self.ids = np.asarray(ids)

    def block(self, queries: slice, items: slice) -> Flags:
        """Whether the item is among the ids of the query."""
        places = self.ids[queries] - items.start
        inside = (places >= 0) & (places < items.stop - items.start)
        relevant = np.zeros((len(places), items.stop - items.start), np.bool_)
        relevant[np.nonzero(inside)[0], places[inside]] = True
        return relevant


def exact_neighbors(queries: Any, database: Any, k: int, *, metric: str = "euclidean") -> Neighbors:
    """The k nearest rows of the database for each query, ordered by (distance, row), computed in blocks.

    A matrix product selects candidates. Each candidate's distance is then computed separately in float64, so that
    equal vectors are exact ties.

    Parameters
    ----------
    queries, database
        Vectors ``(n_queries, d)`` and ``(n, d)``.
    k
        Number of neighbours, 1 to n.
    metric
        ``"euclidean"`` (default), ``"cosine"`` (1 - cosine) or ``"inner_product"`` (the negative inner product).

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
    """The distances ``(n_queries, k)`` of each query to the rows ``ids`` of the database; infinity for id -1.

    >>> distances_to([[0, 0]], [[3, 4], [1, 0]], np.array([[1, 0, -1]]))
    array([[ 1.,  5., inf]], dtype=float32)
    """
    base, asked = _comparable(database, queries, metric)
    far = np.stack([_exact(query, base, row, metric) for query, row in zip(asked, ids, strict=True)])
    return np.where(ids < 0, np.inf, far).astype(np.float32)


def _comparable(database: Any, queries: Any, metric: str) -> tuple[F64, F64]:
    """Both in float64, scaled to unit length for the cosine metric."""
    if metric not in METRICS:
        raise InvalidInputError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
    base = as_vectors(database, name="database").astype(np.float64)
    asked = as_vectors(queries, n_features=base.shape[1], name="queries", owner="the database").astype(np.float64)
    if metric == "cosine":
        base, asked = unit_rows(base, "database"), unit_rows(asked, "queries")
    return base, asked


Best = list[tuple[F64, I64]]


def _merge(best: Best, queries: F64, items: F64, start: int, k: int, metric: str) -> Best:
    """The best k of each query, after a further block of items."""
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
    """The distances of a query to some rows, each summed separately in a fixed order."""
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
    """The radius that the paper's sources use for ``n_neighbors`` neighbours on average.

    It is the mean over all vectors of the distance to the ``n_neighbors``-th nearest vector, the vector itself
    included. Where the density varies, vectors have more than ``n_neighbors`` neighbours within this radius;
    [`average_radius`][rankhash.evaluation.average_radius] is exact.

    Parameters
    ----------
    vectors
        Vectors ``(n, d)``.
    n_neighbors
        Number of neighbours, 1 to n; default 50.

    Examples
    --------
    >>> neighbor_radius([[0.0], [1.0], [3.0]], 2)
    1.3333333333333333
    """
    points = np.asarray(vectors, np.float64)
    if not 1 <= n_neighbors <= len(points):
        raise InvalidInputError(
            f"n_neighbors must be from 1 to {len(points)}, the number of vectors, got {n_neighbors}"
        )
    total = 0.0
    step = max(1, BLOCK_FLOATS // len(points))
    for start in range(0, len(points), step):
        far = euclidean(points[start : start + step], points)
        total += float(np.partition(far, n_neighbors - 1, axis=1)[:, n_neighbors - 1].sum())
    return total / len(points)


def average_radius(vectors: Any, n_neighbors: int = 50, *, random_state: int = 0) -> float:
    """The distance within which a vector has ``n_neighbors`` neighbours on average.

    It is exact for up to 4096 vectors. For more, it is estimated from the distances of 2048 random vectors to all
    others.

    Parameters
    ----------
    vectors
        Vectors ``(n, d)``.
    n_neighbors
        Average number of neighbours; default 50.
    random_state
        Seed of the random vectors; default 0.

    Examples
    --------
    >>> round(average_radius([[0.0], [1.0], [5.0], [6.0], [20.0]], 1), 3)
    1.0
    """
    return MetricNeighbors(as_vectors(vectors), n_neighbors, np.random.default_rng(random_state)).radius


def euclidean(a: Array, b: Array) -> F64:
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
        raise InvalidInputError(f"row {row} of {name} is zero and has no direction; drop it or use another metric")
    unit: F64 = vectors / lengths
    return unit

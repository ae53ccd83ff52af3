"""A search in steps: queries to codes or tables, candidates from the index, re-ranking, ids."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from ..index import Index
from ..neighbors import Neighbors
from ..vectors import as_vectors
from . import _vectors
from ._following import Following, View
from ._schema import State
from .results import Item, Matches, RadiusMatches

if TYPE_CHECKING:
    from .reading import Reading

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

SCORINGS = ("hamming", "weighted", "asymmetric")


@dataclass(frozen=True)
class Question:
    """Queries as the index takes them."""

    codes: U8
    weights: F32 | None
    tables: F32 | None
    vectors: F32 | None
    """Only for re-ranking"""
    rerank: int | None
    stored: str
    n_threads: int | None

    @classmethod
    def of_vectors(
        cls, collection: Reading, vectors: Any, scoring: str, rerank: int | None, n_threads: int | None
    ) -> Question:
        """The question that query vectors ask."""
        _check_scoring(scoring)
        hasher, stored = collection.hasher, _stored(collection, rerank)
        asymmetric = scoring == "asymmetric"
        codes = np.empty((0, 0), np.uint8) if asymmetric else hasher.encode(vectors, n_threads=n_threads)
        tables = hasher.score_tables(vectors) if asymmetric else None
        queries = None if rerank is None else as_vectors(vectors)
        return cls(codes, _weights(collection, scoring), tables, queries, rerank, stored, n_threads)

    @classmethod
    def of_items(
        cls, collection: Reading, items: list[Item], scoring: str, rerank: int | None, n_threads: int | None
    ) -> Question:
        """The question that stored items ask."""
        _check_scoring(scoring)
        stored = _stored(collection, rerank)
        codes = np.array([item.code for item in items], np.uint8).reshape(len(items), collection.layout.n_bytes)
        tables = queries = None
        if scoring == "asymmetric" or rerank is not None:
            if collection.store_vectors is None:
                raise InvalidInputError('scoring="asymmetric" by ids needs stored vectors: create with store_vectors')
            queries = np.array([item.vector for item in items], np.float32).reshape(len(items), -1)
            if scoring == "asymmetric" and len(items):
                tables = collection.hasher.score_tables(queries)
        return cls(codes, _weights(collection, scoring), tables, queries, rerank, stored, n_threads)

    def answer(
        self,
        following: Following,
        view: View,
        k: int,
        *,
        where: str | None,
        radius: float | None,
        without: I64 | None = None,
    ) -> Matches:
        """The k nearest items; ``without`` names one item a query that must not be found."""
        connection, memory, state = view
        bits = None if where is None else following.bitmap(connection, memory, state, where)
        wanted = check_count("k", k) if self.rerank is None else max(self.rerank, k)
        found = self._nearest(memory.index, wanted + (without is not None), bits)
        if self.tables is None:
            following.searched()
        if without is not None:
            found = _drop(found, without)
        if radius is not None:
            found = _within(found, radius)
        if self.rerank is not None:
            assert self.vectors is not None
            found = _vectors.reranked(connection, self.vectors, found.ids, check_count("k", k), self.stored)
        return named(found, following, connection, state)

    def answer_radius(self, following: Following, view: View, radius: float, *, where: str | None) -> RadiusMatches:
        """All items within the radius."""
        if self.tables is not None:
            raise InvalidInputError('scoring="asymmetric" has no search by radius; use "hamming" or "weighted"')
        connection, memory, state = view
        bits = None if where is None else following.bitmap(connection, memory, state, where)
        found = memory.index.search_radius(
            self.codes, radius, weights=self.weights, filter=bits, n_threads=self.n_threads
        )
        following.searched()
        ids = np.empty(len(found.ids), object)
        ids[:] = following.names(connection, state, found.ids)
        return RadiusMatches(found.offsets, ids, found.distances)

    def _nearest(self, index: Index, k: int, bits: U8 | None) -> Neighbors:
        if self.tables is not None:
            return index.search_tables(self.tables, k, filter=bits, n_threads=self.n_threads)
        return index.search(self.codes, k, weights=self.weights, filter=bits, n_threads=self.n_threads)


def named(found: Neighbors, following: Following, connection: sqlite3.Connection, state: State) -> Matches:
    """What was found by number, by its ids."""
    ids = np.full(found.ids.shape, None, object)
    there = found.ids >= 0
    ids[there] = following.names(connection, state, found.ids[there])
    return Matches(ids, found.distances)


def _check_scoring(scoring: str) -> None:
    if scoring not in SCORINGS:
        raise InvalidInputError(f"scoring must be one of {', '.join(SCORINGS)}, got {scoring!r}")


def _weights(collection: Reading, scoring: str) -> F32 | None:
    if scoring != "weighted":
        return None
    weights: F32 | None = getattr(collection.hasher, "weights_", None)
    if weights is None:
        name = type(collection.hasher).__name__
        raise InvalidInputError(f'scoring="weighted" needs a hasher that learns weights, such as SRSH; this is {name}')
    return weights


def _stored(collection: Reading, rerank: int | None) -> str:
    if rerank is not None:
        check_count("rerank", rerank)
        if collection.store_vectors is None:
            raise InvalidInputError("rerank needs stored vectors: create the collection with store_vectors")
    return collection.store_vectors or "none"


def check_count(name: str, value: Any) -> int:
    """``value`` as a positive integer."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidInputError(f"{name} must be a positive integer, got {value!r}")
    return int(value)


def _drop(found: Neighbors, without: I64) -> Neighbors:
    """One place fewer in each row: without the given number, or else without the last place."""
    ids, distances = (np.empty((len(part), part.shape[1] - 1), part.dtype) for part in found)
    for row, number in enumerate(without):
        keep = np.flatnonzero(found.ids[row] != number)[: ids.shape[1]]
        ids[row], distances[row] = found.ids[row, keep], found.distances[row, keep]
    return Neighbors(ids, distances)


def _within(found: Neighbors, radius: Any) -> Neighbors:
    if isinstance(radius, bool) or not isinstance(radius, (int, float, np.number)) or not 0 <= radius < np.inf:
        raise InvalidInputError(f"radius must be a finite number of at least 0, got {radius!r}")
    far = found.distances > radius
    return Neighbors(np.where(far, -1, found.ids), np.where(far, np.float32(np.inf), found.distances))

"""One commit of a collection, to ask several questions of."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import FileFormatError, InvalidInputError
from ..vectors import as_vectors
from . import _items, _searching, _vectors
from ._following import Following, View
from ._items import Id
from .results import Item, Matches, RadiusMatches

if TYPE_CHECKING:
    from .collection import Collection

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]


class Snapshot:
    """What a collection held at one commit; made by :meth:`Collection.snapshot`, for one thread, while it is open.

    Its methods are those of the collection, and all of them see the same items.
    """

    def __init__(self, collection: Collection, following: Following, view: View) -> None:
        self._collection = collection
        self._following = following
        self._view = view

    @property
    def generation(self) -> int:
        """The number of the commit."""
        return self._view[2].generation

    def __len__(self) -> int:
        return self._view[2].n_items

    def count(self, where: str | None = None) -> int:
        """How many items there are, or how many a filter passes."""
        return len(self) if where is None else len(self._numbers(where))

    def ids(self, *, where: str | None = None, offset: int = 0, limit: int | None = None) -> list[Id]:
        """The ids of items in the order in which they were added, from the ``offset``-th on, ``limit`` at most."""
        for name, value in (("offset", offset), ("limit", 0 if limit is None else limit)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidInputError(f"{name} must be an integer of at least 0, got {value!r}")
        numbers = self._numbers(where)[offset:]
        connection, _, state = self._view
        return self._following.names(connection, state, numbers if limit is None else numbers[:limit])

    def get(self, ids: Sequence[Id] | ArrayLike, *, vectors: bool = True) -> list[Item]:
        """The items of the given ids, all of which must be there; without ``vectors`` these are not read."""
        names = _items.as_ids(ids, unique=False)
        return self._items(_items.find_all(self._view[0], names), names, vectors=vectors)

    def search(
        self,
        vectors: ArrayLike,
        k: int,
        *,
        where: str | None = None,
        scoring: str = "hamming",
        rerank: int | None = None,
        radius: float | None = None,
        n_threads: int | None = None,
    ) -> Matches:
        """The k nearest items of each query vector; see :meth:`Collection.search`."""
        question = _searching.Question.of_vectors(self._collection, vectors, scoring, rerank, n_threads)
        return question.answer(self._following, self._view, k, where=where, radius=radius)

    def search_ids(
        self,
        ids: Sequence[Id] | ArrayLike,
        k: int,
        *,
        where: str | None = None,
        scoring: str = "hamming",
        rerank: int | None = None,
        radius: float | None = None,
        n_threads: int | None = None,
    ) -> Matches:
        """The k items that are nearest to each of the given ones; see :meth:`Collection.search_ids`."""
        names = _items.as_ids(ids, unique=False)
        numbers = _items.find_all(self._view[0], names)
        items = self._items(numbers, names, vectors=scoring == "asymmetric" or rerank is not None)
        question = _searching.Question.of_items(self._collection, items, scoring, rerank, n_threads)
        return question.answer(self._following, self._view, k, where=where, radius=radius, without=numbers)

    def search_radius(
        self,
        vectors: ArrayLike,
        radius: float,
        *,
        where: str | None = None,
        scoring: str = "hamming",
        n_threads: int | None = None,
    ) -> RadiusMatches:
        """All items within ``radius`` of each query vector; see :meth:`Collection.search_radius`."""
        question = _searching.Question.of_vectors(self._collection, vectors, scoring, None, n_threads)
        return question.answer_radius(self._following, self._view, radius, where=where)

    def search_stored(
        self, vectors: ArrayLike, k: int, *, where: str | None = None, without: Sequence[Id] | None = None
    ) -> Matches:
        """The k items whose stored vectors are nearest by Euclidean distance, found by reading all of them.

        ``without`` names one item a query that must not be found. It needs a collection that stores vectors.
        """
        kind = self._collection.store_vectors
        if kind is None:
            raise InvalidInputError("this collection stores no vectors; create it with store_vectors")
        queries = as_vectors(vectors, n_features=self._collection.hasher.n_features_in_)
        connection, _, state = self._view
        own = None if without is None else _items.find_all(connection, _items.as_ids(without, unique=False))
        found = _vectors.nearest(connection, queries, self._numbers(where), _searching.check_count("k", k), kind, own)
        return _searching.named(found, self._following, connection, state)

    def distances(self, codes: U8, *, where: str | None = None, n_threads: int | None = None) -> I64:
        """How many items differ from each of the ``codes`` (n, n_bytes) in 0, 1, …, n_symbols symbols.

        The answer has the shape (n, n_symbols + 1).
        """
        connection, memory, state = self._view
        bits = None if where is None else self._following.bitmap(connection, memory, state, where)
        n_symbols = memory.index.layout.n_symbols
        counts = np.zeros((len(codes), n_symbols + 1), np.int64)
        for row in range(len(codes)):
            found = memory.index.search_radius(codes[row : row + 1], n_symbols, filter=bits, n_threads=n_threads)
            counts[row] = np.bincount(found.distances.astype(np.int64), minlength=n_symbols + 1)
        return counts

    def _numbers(self, where: str | None) -> I64:
        connection, memory, state = self._view
        numbers: I64 = memory.index.ids
        if where is None:
            return numbers
        bits = self._following.bitmap(connection, memory, state, where)
        passing: I64 = numbers[np.unpackbits(bits, count=len(numbers), bitorder="little").astype(bool)]
        return passing

    def _items(self, numbers: I64, names: list[Id], *, vectors: bool) -> list[Item]:
        connection, memory, _ = self._view
        rows = _items.read(connection, numbers.tolist())
        codes = memory.index.get(numbers)
        items = []
        stored = self._stored(connection, numbers) if vectors else [None] * len(numbers)
        for number, name, code, vector in zip(numbers.tolist(), names, codes, stored, strict=True):
            found, text = rows[number]
            if found != name:
                raise FileFormatError(f"is damaged: the id {name!r} leads to the item {found!r}")
            items.append(Item(name, code, _items.parse(text), vector))
        return items

    def _stored(self, connection: sqlite3.Connection, numbers: I64) -> Any:
        kind = self._collection.store_vectors
        if kind is None:
            return [None] * len(numbers)
        ascending, places = np.unique(numbers, return_inverse=True)
        return _vectors.read(connection, ascending, kind, self._collection.hasher.n_features_in_)[places]

"""The questions that a collection and a snapshot of it answer alike."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..codes import CodeLayout
from ..errors import FileFormatError, InvalidInputError
from ..hashers import Hasher
from . import _items, _searching, _vectors
from ._following import Following, View
from ._items import Id
from ._store import Store
from .results import Item, Matches, RadiusMatches

I64 = NDArray[np.int64]


class Reading(ABC):
    """Items that can be counted, got and searched. Every question is asked of one commit, which :meth:`_now` gives."""

    _store: Store
    _following: Following

    @abstractmethod
    def _now(self) -> AbstractContextManager[View]:
        """The commit that is asked."""

    @abstractmethod
    def __len__(self) -> int:
        """How many items there are."""

    @property
    def hasher(self) -> Hasher:
        """The hasher that makes the codes."""
        return self._store.hasher

    @property
    def layout(self) -> CodeLayout:
        """The shape of the codes."""
        return self._store.layout

    @property
    def store_vectors(self) -> str | None:
        """How vectors are stored: None, ``"float16"`` or ``"float32"``."""
        return None if self._store.store_vectors == "none" else self._store.store_vectors

    def count(self, where: str | None = None) -> int:
        """How many items there are, or how many a filter passes."""
        if where is None:
            return len(self)
        with self._now() as view:
            return len(self._numbers(view, where))

    def ids(self, *, where: str | None = None, offset: int = 0, limit: int | None = None) -> list[Id]:
        """The ids of items in the order in which they were added, from the ``offset``-th on, ``limit`` at most.

        Without arguments of all items; with ``where`` of those that a filter passes.
        """
        for name, value in (("offset", offset), ("limit", 0 if limit is None else limit)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InvalidInputError(f"{name} must be an integer of at least 0, got {value!r}")
        with self._now() as view:
            numbers = self._numbers(view, where)[offset:]
            connection, _, state = view
            return self._following.names(connection, state, numbers if limit is None else numbers[:limit])

    def get(self, ids: Sequence[Id] | ArrayLike, *, vectors: bool = True) -> list[Item]:
        """The items of the given ids, all of which must be there; without ``vectors`` these are not read."""
        names = _items.as_ids(ids, unique=False)
        with self._now() as view:
            return self._items(view, _items.find_all(view[0], names), names, vectors=vectors)

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
        """The k nearest items of each query vector.

        Parameters
        ----------
        vectors
            The queries, (n_queries, n_features).
        k
            How many; places that cannot be filled have the id None and an infinite distance.
        where
            A filter over the metadata, such as ``"price < 20 and colour in ('red', 'blue')"``.
        scoring
            What a distance is: ``"hamming"``, the number of differing symbols; ``"weighted"``, the sum of the
            hasher's weights of the differing symbols; ``"asymmetric"``, where the query keeps its real-valued scores.
        rerank
            Take so many candidates by their codes, then return those whose stored vectors are nearest by Euclidean
            distance, which is then the distance of the result.
        radius
            Leave out items (with ``rerank``: candidates) whose codes are farther away than this.
        n_threads
            None uses every core that this process may use.
        """
        question = _searching.Question.of_vectors(self, vectors, scoring, rerank, n_threads)
        with self._now() as view:
            return question.answer(self._following, view, k, where=where, radius=radius)

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
        """The k items that are nearest to each of the given ones, which are left out themselves; as :meth:`search`.

        ``"asymmetric"`` scoring and ``rerank`` need stored vectors.
        """
        names = _items.as_ids(ids, unique=False)
        with self._now() as view:
            numbers = _items.find_all(view[0], names)
            items = self._items(view, numbers, names, vectors=scoring == "asymmetric" or rerank is not None)
            question = _searching.Question.of_items(self, items, scoring, rerank, n_threads)
            return question.answer(self._following, view, k, where=where, radius=radius, without=numbers)

    def search_radius(
        self,
        vectors: ArrayLike,
        radius: float,
        *,
        where: str | None = None,
        scoring: str = "hamming",
        n_threads: int | None = None,
    ) -> RadiusMatches:
        """All items within ``radius`` of each query vector, however many; scoring is hamming or weighted."""
        question = _searching.Question.of_vectors(self, vectors, scoring, None, n_threads)
        with self._now() as view:
            return question.answer_radius(self._following, view, radius, where=where)

    def _numbers(self, view: View, where: str | None) -> I64:
        """The numbers of all items, or of those that a filter passes."""
        connection, memory, state = view
        numbers: I64 = memory.index.ids
        if where is None:
            return numbers
        bits = self._following.bitmap(connection, memory, state, where)
        passing: I64 = numbers[np.unpackbits(bits, count=len(numbers), bitorder="little").astype(bool)]
        return passing

    def _items(self, view: View, numbers: I64, names: list[Id], *, vectors: bool) -> list[Item]:
        connection, memory, _ = view
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
        kind = self.store_vectors
        if kind is None:
            return [None] * len(numbers)
        ascending, places = np.unique(numbers, return_inverse=True)
        return _vectors.read(connection, ascending, kind, self.hasher.n_features_in_)[places]

"""One commit of a collection together with the index of that commit: every read goes through a view."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._ids import Id
from .._types import F32, I64, U8
from ..errors import FileFormatError, InvalidInputError
from ..index import Index
from ..neighbors import Neighbors
from ..vector_index.numbered import NumberedVectors
from . import _items, _vectors
from ._encoding import Encoding
from ._filter_cache import FilterCache
from ._interrupts import ending_at
from ._names import NameCache
from ._replica import Replica
from ._schema import Counters
from .filters import field_path
from .results import Item, Matches


@dataclass(frozen=True)
class Caches:
    """The caches that the views of one handle share."""

    filters: FilterCache = field(default_factory=FilterCache)
    names: NameCache = field(default_factory=NameCache)


class View:
    """The items of one commit; usable by one thread, while the transaction that it reads in is open."""

    def __init__(
        self,
        encoding: Encoding,
        connection: sqlite3.Connection,
        replica: Replica,
        counters: Counters,
        caches: Caches,
        *,
        warn: bool = True,
    ) -> None:
        self.encoding = encoding
        self._connection = connection
        self._replica = replica
        self._counters = counters
        self._caches = caches
        self._warn = warn

    @property
    def index(self) -> Index:
        """The codes of all items, under their numbers; only for a collection with a hasher."""
        if self._replica.index is None:
            raise InvalidInputError("this collection has no hasher, so that its items have no codes")
        return self._replica.index

    @property
    def memory(self) -> NumberedVectors:
        """The stored vectors in memory, under their numbers; only if the dimension of the vectors is known.

        The first use loads them, without a deadline of native calls; a collection without a hasher has always loaded
        them.
        """
        if self.encoding.store_vectors is None:
            raise InvalidInputError("this collection stores no vectors; create it with store_vectors")
        with ending_at(None):
            vectors = self._replica.with_vectors(self._connection)
        assert vectors is not None
        return vectors

    @property
    def generation(self) -> int:
        """The number of the commit."""
        return self._counters.generation

    @property
    def n_items(self) -> int:
        """The number of items."""
        return self._counters.n_items

    def bitmap(self, where: str | None) -> U8 | None:
        """The items that match a filter, as one bit for each of ``numbers()``; None without a filter."""
        if where is None:
            return None
        found = self._caches.filters.result(self._connection, self._replica, where, self._counters)
        if self._warn:
            found.warn()
        return found.bits

    def unknown_fields(self, where: str) -> list[str]:
        """The fields that a filter tests and that no item has."""
        return [*self._caches.filters.result(self._connection, self._replica, where, self._counters).unknown]

    def group_path(self, field: str) -> str:
        """The JSON path of a field to group by; warns if no item has it."""
        if self._warn and not self.has_field(field):
            warnings.warn(f"no item has the field {field}, by which results are grouped", stacklevel=4)
        return field_path(field)

    def has_field(self, name: str) -> bool:
        """Whether an item has the field, or there are no items."""
        counters = self._counters
        return not counters.n_items or self._caches.filters.is_known(self._connection, field_path(name), counters)

    def numbers(self, where: str | None = None) -> I64:
        """The numbers of all items, or of those that match a filter (None), ascending."""
        numbers = self._replica.numbers
        bits = self.bitmap(where)
        if bits is not None:
            numbers = numbers[np.unpackbits(bits, count=len(numbers), bitorder="little").astype(bool)]
        return numbers

    def find(self, ids: Sequence[Id]) -> I64:
        """The numbers of ids; UnknownIdError if one of them is not in the collection."""
        return _items.find_all(self._connection, ids)

    def values(self, numbers: I64, path: str) -> list[Any]:
        """The value of each item in a field, in a comparable form; None for items without the field."""
        known = _items.values(self._connection, numbers.tolist(), path)
        return [known.get(number) for number in numbers.tolist()]

    def known(self, ids: Sequence[Id]) -> list[Id]:
        """Those of the ids that are in the collection, in the order given."""
        there = _items.find(self._connection, ids) >= 0
        return [name for name, is_there in zip(ids, there.tolist(), strict=True) if is_there]

    def names(self, numbers: I64) -> list[Id]:
        """The ids of numbers."""
        return self._caches.names.names(self._connection, self._counters, numbers)

    def matches(self, found: Neighbors) -> Matches:
        """Neighbours by number as neighbours by id."""
        ids = np.full(found.ids.shape, None, object)
        filled = found.ids >= 0
        ids[filled] = self.names(found.ids[filled])
        return Matches(ids, found.distances)

    def items(self, numbers: I64, *, vectors: bool) -> list[Item]:
        """The items of numbers; their stored vectors only if ``vectors`` is true."""
        read = _items.read(self._connection, numbers.tolist())
        rows = [read[number] for number in numbers.tolist()]
        nothing = [None] * len(numbers)
        codes = nothing if self.encoding.hasher is None else self.index.get(numbers)
        stored = self.vectors(numbers) if vectors and self.encoding.store_vectors is not None else nothing
        return [
            Item(name, code, _items.parse(text), vector)
            for (name, text), code, vector in zip(rows, codes, stored, strict=True)
        ]

    def get(self, ids: Sequence[Id], *, vectors: bool) -> list[Item]:
        """The items of ids."""
        items = self.items(self.find(ids), vectors=vectors)
        for name, item in zip(ids, items, strict=True):
            if item.id != name:
                raise FileFormatError(f"is damaged: the id {name!r} leads to the item {item.id!r}")
        return items

    def metadata_bytes(self, ids: Sequence[Id]) -> list[int]:
        """The length of each item's metadata as JSON text, in bytes; 0 without metadata."""
        numbers = self.find(ids).tolist()
        sizes = _items.metadata_bytes(self._connection, numbers)
        return [sizes.get(number, 0) for number in numbers]

    def vectors(self, numbers: I64) -> F32:
        """The stored vectors of numbers; only for a collection that stores vectors."""
        ascending, places = np.unique(numbers, return_inverse=True)
        encoding = self.encoding
        if encoding.vectors is None:
            return np.empty((0, 0), np.float32)
        kind, in_rows = encoding.vector_kind, encoding.in_rows
        return _vectors.read(self._connection, encoding.vectors, ascending, kind, in_rows=in_rows)[places]

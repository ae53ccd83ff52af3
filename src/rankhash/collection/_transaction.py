"""Changes of a collection: all writes to the tables of items and codes, which change together."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NoReturn

import numpy as np

from .._ids import LARGEST, Id
from .._types import I64, U8, Array
from ..errors import IdError, InvalidInputError, TakenIdError
from ..vector_index.learned import Learned
from . import _chunk_rows, _chunks, _facets, _items, _removed, _vectors
from ._encoding import Encoding, write_encoding
from ._schema import Counters, write_counters, write_setting

MAX_BARE = 2**62
"""Larger ids never become numbers, so that one huge id does not use up the numbers of all later items"""


class Transaction:
    """One open transaction; nothing that it does is visible to others before it is committed."""

    def __init__(self, encoding: Encoding, connection: sqlite3.Connection, counters: Counters) -> None:
        self.connection = connection
        self.counters = counters
        self.encoding = encoding
        self._changed = False

    def add(
        self,
        codes: U8,
        stored: Array | None,
        ids: Sequence[Id] | None,
        texts: Sequence[str | None] | None,
    ) -> list[Id]:
        """Append items and return their ids; without ``ids`` they get the integers after the largest so far."""
        counters = self.counters
        own = max(counters.next_number, counters.next_id)
        numbered = range(own, own + len(codes))
        if ids is None and numbered.stop > LARGEST:
            raise IdError(f"there is no room for {len(codes)} ids after {own - 1}; give ids explicitly")
        bare = ids is None or (len(ids) > 0 and ids[0] == own and list(ids) == list(numbered))
        bare = bare and numbered.stop <= MAX_BARE
        first = own if bare else counters.next_number
        if first + len(codes) > LARGEST:
            raise IdError(f"the collection has given out all numbers up to {first}; export it to a new one")
        names: list[Id] = list(numbered if ids is None else ids)
        named = not bare or (texts is not None and any(text is not None for text in texts))
        if named:
            self._insert_items(first, names, texts)
            _facets.fill_fields(self.connection, first)
            counters.n_rows += len(names)
        if stored is not None:
            self._append_vectors(first, stored)
        _chunks.append(self.connection, self.encoding.codes, first, codes, named=named)
        self._count(len(codes), first + len(codes), names)
        return names

    def _append_vectors(self, first: int, stored: Array) -> None:
        if self.encoding.n_features is None and len(stored):
            write_setting(self.connection, "n_features", stored.shape[1])
            self.counters.encoding += 1
            self.encoding = replace(self.encoding, number=self.counters.encoding, n_features=stored.shape[1])
        if self.encoding.vectors is not None and len(stored):
            _chunks.append(self.connection, self.encoding.vectors, first, _vectors.as_rows(stored), named=False)

    def _insert_items(self, first: int, names: list[Id], texts: Sequence[str | None] | None) -> None:
        self._refuse_bare(names)
        try:
            _items.insert(self.connection, first, names, texts)
        except sqlite3.IntegrityError:
            known = _items.find(self.connection, names)
            taken = np.flatnonzero((known >= 0) & (known < first))
            if not len(taken):
                raise
            self._refuse(names[taken[0]])

    def _refuse_bare(self, names: list[Id]) -> None:
        """Raise if an id is the number of an item that has no row."""
        below = [name for name in names if isinstance(name, int) and 0 <= name < self.counters.next_number]
        if below:
            taken = np.flatnonzero(_items.find(self.connection, below) >= 0)
            if len(taken):
                self._refuse(below[taken[0]])

    def _refuse(self, name: Id) -> NoReturn:
        raise TakenIdError(f"the id {name!r} is already in the collection; upsert replaces items")

    def _count(self, n: int, next_number: int, names: list[Id]) -> None:
        integers = [name for name in names if isinstance(name, int)]
        self.counters.next_id = max(self.counters.next_id, max(integers, default=-1) + 1)
        self.counters.next_number = next_number
        self.counters.n_items += n
        self._changed |= n > 0

    def remove(self, numbers: I64) -> None:
        """Remove items by their numbers, all of which must exist."""
        if len(numbers):
            self.counters.n_rows -= _items.delete(self.connection, numbers)
            _removed.mark_removed(self.connection, np.sort(numbers), self.counters.generation + 1)
            self.counters.n_items -= len(numbers)
            self._changed = True

    def describe(self, ids: list[Id], texts: list[str | None]) -> None:
        """Replace the metadata of items; like replaced items, they count as added now."""
        numbers = _items.find_all(self.connection, ids)
        ascending = np.sort(numbers)
        places = np.searchsorted(ascending, numbers)
        codes = _chunk_rows.rows_of(self.connection, self.encoding.codes, ascending)[places]
        stored = None
        if self.encoding.vectors is not None:
            rows = _chunk_rows.rows_of(self.connection, self.encoding.vectors, ascending)[places]
            stored = rows.view(_vectors.DTYPES[self.encoding.vector_kind])
        self.remove(numbers)
        self.add(codes, stored, ids, texts)

    def compact(self) -> None:
        """Rewrite all chunks without the codes of removed items, and clear the list of removed items."""
        for format in (self.encoding.codes, self.encoding.vectors):
            if format is not None:
                _chunks.rewrite(self.connection, format, _chunks.all_lasts(self.connection, format))
        self.connection.execute("DELETE FROM removed")
        self.connection.execute("DELETE FROM facets WHERE number NOT IN (SELECT number FROM items)")
        self.counters.epoch += 1
        self._changed = True

    def recode(self, wanted: Encoding, known: I64 | None = None, rows: U8 | None = None) -> None:
        """Encode all items in another way.

        ``known`` (None) are ascending numbers whose new codes are ``rows``; the others are encoded from their vectors.
        """
        before = self.encoding
        if before.store_vectors is None:
            raise InvalidInputError("this collection stores no vectors, so that its items cannot be encoded anew")
        self.counters.encoding += 1
        self.encoding = replace(wanted, number=self.counters.encoding)
        encode = partial(self._encoded, known, rows)
        lasts = _chunks.all_lasts(self.connection, before.codes)
        _chunks.rewrite(self.connection, before.codes, lasts, self.encoding.codes, encode)
        write_encoding(self.connection, self.encoding)
        self._changed = True

    def _encoded(self, known: I64 | None, rows: U8 | None, numbers: I64) -> U8:
        codes = np.empty((len(numbers), self.encoding.codes.n_bytes), np.uint8)
        missing = np.ones(len(numbers), bool)
        if known is not None and rows is not None and len(known):
            places = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
            missing = known[places] != numbers
            codes[~missing] = rows[places[~missing]]
        places = np.flatnonzero(missing)
        format, kind = self.encoding.vectors, self.encoding.vector_kind
        assert format is not None
        for start in range(0, len(places), format.n_rows):
            some = places[start : start + format.n_rows]
            codes[some] = self.encoding.encode(
                _vectors.read(self.connection, format, numbers[some], kind, in_rows=False)
            )
        return codes

    def recalibrate(self, learned: Learned) -> None:
        """Store a new calibration of searches; cells and codes stay."""
        self.counters.encoding += 1
        self.encoding = replace(self.encoding, number=self.counters.encoding, learned=learned)
        write_encoding(self.connection, self.encoding)
        self._changed = True

    def finish(self) -> None:
        """Store the counters of the new generation, if anything changed."""
        if self._changed:
            self.counters.generation += 1
            write_counters(self.connection, self.counters)

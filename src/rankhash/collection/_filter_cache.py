"""A cache of the results of filters: only items added since are tested again.

A result is a set of numbers: those that match or, for a filter that items without metadata match, those that do not.
"""

from __future__ import annotations

import sqlite3
import threading
import warnings
from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np

from .._types import I64, U8
from ..errors import FileFormatError
from ._facets import field_name, read_fields
from ._filter_sql import to_sql
from ._filter_tree import tested_fields
from ._replica import Replica
from ._schema import Counters
from .filters import parse

MAX_SHOWN = 100
"""Characters of a field's name in a warning."""

MAX_ENTRIES = 1024
MAX_BYTES = 128 << 20
ENTRY_BYTES = 1024
"""Estimated memory of an entry without its text and its arrays"""


@dataclass(frozen=True)
class _Entry:
    """The result of one filter as of one generation."""

    excluded: bool
    """Whether ``numbers`` are those that do not match"""
    numbers: I64
    upto: int
    """All numbers below it have been tested"""
    generation: int
    bits: U8
    """The result as one bit per item of the index at ``generation``"""
    unknown: tuple[str, ...] = ()
    """The fields that it tests and that no item had at ``generation``"""

    def warn(self) -> None:
        """Warn of the fields that no item has, which are probably mistakes."""
        if self.unknown:
            fields = f"field{'s' if len(self.unknown) > 1 else ''} {', '.join(self.unknown)}"
            warnings.warn(f"no item has the {fields}, which the filter tests", stacklevel=6)


class FilterCache:
    """The results of the most recently used filters, bounded by their number and by their memory."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._n_bytes = 0
        self._lock = threading.Lock()  # held for a few dictionary operations, never while SQL runs
        self._rows_counted = False
        self._looked: dict[str, int | None] = {}
        """By path of a field: the number below which no item has the field; None if an item has it"""

    def result(self, connection: sqlite3.Connection, replica: Replica, expression: str, counters: Counters) -> _Entry:
        """The items that match, and the fields that no item has."""
        tree = parse(expression)
        with self._lock:
            entry = self._entries.get(expression)
            if entry is not None:
                self._entries.move_to_end(expression)
        if entry is None or entry.generation != replica.generation:
            self._count_rows(connection, counters)
            condition, parameters = to_sql(tree, read_fields(connection))
            entry = _evaluated(entry, connection, replica, condition, parameters, counters.next_number)
            if counters.n_items:
                unknown = sorted(path for path in tested_fields(tree) if not self.is_known(connection, path, counters))
                entry = replace(entry, unknown=tuple(_shown(field_name(path)) for path in unknown))
            self._put(expression, entry)
        return entry

    def is_known(self, connection: sqlite3.Connection, path: str, counters: Counters) -> bool:
        """Whether some item has had the field; only items added since the last test are tested."""
        looked = self._looked.get(path, 0)
        if looked is not None:
            query = "SELECT 1 FROM items WHERE number >= ? AND json_type(metadata, ?) IS NOT NULL LIMIT 1"
            found = connection.execute(query, (looked, path)).fetchone()
            if len(self._looked) >= MAX_ENTRIES:
                self._looked = {}
            looked = self._looked[path] = None if found else counters.next_number
        return looked is None

    def _count_rows(self, connection: sqlite3.Connection, counters: Counters) -> None:
        """Check once that no row of ``items`` is missing, since a filter would not notice."""
        if not self._rows_counted:
            n_rows = connection.execute("SELECT count(*) FROM items NOT INDEXED").fetchone()[0]
            if n_rows != counters.n_rows:
                raise FileFormatError(f"is damaged: {n_rows} rows of items are left of {counters.n_rows}")
            self._rows_counted = True

    def _put(self, expression: str, entry: _Entry) -> None:
        with self._lock:
            before = self._entries.pop(expression, None)
            if before is not None:
                self._n_bytes -= _size(expression, before)
            self._entries[expression] = entry
            self._n_bytes += _size(expression, entry)
            while len(self._entries) > 1 and (len(self._entries) > MAX_ENTRIES or self._n_bytes > MAX_BYTES):
                self._n_bytes -= _size(*self._entries.popitem(last=False))


def _size(expression: str, entry: _Entry) -> int:
    return ENTRY_BYTES + 4 * len(expression) + entry.numbers.nbytes + entry.bits.nbytes


def _evaluated(
    entry: _Entry | None,
    connection: sqlite3.Connection,
    replica: Replica,
    condition: str,
    parameters: list[object],
    next_number: int,
) -> _Entry:
    """The result of the condition; ``entry`` is its earlier result, if any."""
    if entry is None:
        without_metadata = f"SELECT {condition} FROM (SELECT NULL AS metadata, -1 AS number)"
        excluded = bool(connection.execute(without_metadata, parameters).fetchone()[0])
        numbers, upto = np.empty(0, np.int64), 0
    else:
        excluded, numbers, upto = entry.excluded, entry.numbers, entry.upto
    query = f"SELECT number FROM items WHERE {'NOT ' if excluded else ''}{condition} AND number >= ?"
    rows = connection.execute(query, [*parameters, upto])
    added = np.sort(np.fromiter((number for (number,) in rows), np.int64))
    numbers = np.concatenate([numbers, added])
    return _Entry(excluded, numbers, next_number, replica.generation, _bits(replica.numbers, numbers, excluded))


def _bits(ids: I64, numbers: I64, excluded: bool) -> U8:
    passing = np.full(len(ids), excluded)
    if len(ids):
        places = np.minimum(np.searchsorted(ids, numbers), len(ids) - 1)
        passing[places[ids[places] == numbers]] = not excluded
    return np.packbits(passing, bitorder="little")


def _shown(name: str) -> str:
    """The name of a field for a warning, which is no longer for a hostile filter."""
    return name if len(name) <= MAX_SHOWN else name[: MAX_SHOWN - 1] + "…"

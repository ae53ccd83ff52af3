"""A cache of ids by number: reading them from the file costs more than the search that found them."""

from __future__ import annotations

import sqlite3
from itertools import islice

from .._ids import Id
from .._types import I64
from . import _items
from ._schema import Counters

MAX_NAMES = 1 << 20
"""Largest number of ids that are kept; also at most twice as many as there are items"""


class NameCache:
    """The ids of recently used numbers, some of which may be removed by now; the id of a number never changes."""

    def __init__(self) -> None:
        self._known: dict[int, Id] = {}

    def names(self, connection: sqlite3.Connection, counters: Counters, numbers: I64) -> list[Id]:
        """The ids of numbers that are in the collection."""
        wanted: list[int] = numbers.tolist()
        if counters.n_rows == 0:
            return list(wanted)
        known = self._known
        try:
            return [known[number] for number in wanted]
        except KeyError:
            missing = {number for number in wanted if number not in known}
        rows = _items.read(connection, [*missing])
        most = min(MAX_NAMES, 2 * counters.n_items)
        self._remember({number: rows[number][0] for number in islice(missing, most)}, most)
        return [rows[number][0] if number in missing else known[number] for number in wanted]

    def _remember(self, names: dict[int, Id], most: int) -> None:
        if len(self._known) + len(names) > most:
            self._known = {}
        self._known.update(names)

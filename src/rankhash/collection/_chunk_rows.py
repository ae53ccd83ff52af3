"""Look-up of single numbers in chunks: which of them exist, and their rows."""

from __future__ import annotations

import sqlite3

import numpy as np

from .._types import I64, U8, Flags
from ..errors import FileFormatError
from ._chunks import BLOB, RowFormat, have_sizes, read_one
from ._removed import are_removed
from ._schema import has_types


def look_up(connection: sqlite3.Connection, numbers: I64) -> tuple[Flags, Flags]:
    """Which of the numbers have a code and were not removed, and which of these have a row in ``items``."""
    kept, named = np.zeros(len(numbers), bool), np.zeros(len(numbers), bool)
    query = "SELECT last, first, numbers IS NULL AND named IS NULL FROM chunks ORDER BY last"
    rows = connection.execute(query).fetchall()
    if not all(has_types(row, int, int, int) for row in rows):
        raise FileFormatError("is damaged: its chunks have no bounds")
    if not rows or not len(numbers):
        return kept, named
    lasts, firsts, plain = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    places = np.minimum(np.searchsorted(lasts, numbers), len(lasts) - 1)
    kept = (numbers >= firsts[places]) & (numbers <= lasts[places])
    for place in np.unique(places[kept & (plain[places] == 0)]):
        here = np.flatnonzero(kept & (places == place))
        kept[here], named[here] = _look_up_in(connection, int(lasts[place]), numbers[here])
    kept[kept] = ~are_removed(connection, numbers[kept])
    return kept, named & kept


def _look_up_in(connection: sqlite3.Connection, last: int, numbers: I64) -> tuple[Flags, Flags]:
    """``look_up`` for numbers within the bounds of one chunk."""
    row = connection.execute("SELECT first, n, numbers, named FROM chunks WHERE last = ?", (last,)).fetchone()
    if not has_types(row, int, int, BLOB, BLOB):
        raise FileFormatError(f"is damaged: the chunk up to number {last} has no bounds")
    first, n, gaps, flags = row
    if n < 1 or not have_sizes(n, gaps, flags):
        raise FileFormatError(f"is damaged: the chunk up to number {last} has no bounds")
    places, kept = numbers - first, np.ones(len(numbers), bool)
    if gaps is not None:
        there = np.frombuffer(gaps, "<i8")
        places = np.minimum(np.searchsorted(there, numbers), len(there) - 1)
        kept = there[places] == numbers
    if flags is None:
        return kept, np.zeros(len(numbers), bool)
    bits = np.unpackbits(np.frombuffer(flags, np.uint8), count=n, bitorder="little").astype(bool)
    return kept, bits[places] & kept


def rows_of(connection: sqlite3.Connection, format: RowFormat, numbers: I64) -> U8:
    """The rows ``(n, n_bytes)`` of ascending numbers, all of which must exist; checked."""
    rows = np.empty((len(numbers), format.n_bytes), np.uint8)
    done = 0
    while done < len(numbers):
        query = f"SELECT min(last) FROM {format.table} WHERE last >= ?"
        (last,) = connection.execute(query, (int(numbers[done]),)).fetchone()
        stop = done if last is None else int(np.searchsorted(numbers, last, side="right"))
        if stop <= done:
            raise FileFormatError(f"is damaged: {format.column} of number {numbers[done]} are missing")
        chunk = read_one(connection, format, last)
        there = chunk.all_numbers()
        places = np.minimum(np.searchsorted(there, numbers[done:stop]), len(there) - 1)
        lost = there[places] != numbers[done:stop]
        if lost.any():
            raise FileFormatError(f"is damaged: {format.column} of number {numbers[done:stop][lost][0]} are missing")
        rows[done:stop] = chunk.rows[places]
        done = stop
    return rows

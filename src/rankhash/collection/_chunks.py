"""Codes in chunks: one a batch, merged as they pile up, each with a checksum.

::

    number    0 ……… last │ ……… last │ … │ … │.│.│      a change appends; nothing before it is touched
              about a megabyte each   small ones: sixteen of about one size become one

A chunk holds consecutive numbers (``numbers`` is NULL) or, after codes were dropped from it, the numbers that are left.
``named`` has a bit a code, which says whether the item has a row in ``items``; NULL if none has.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codes import CodeLayout
from ..errors import FileFormatError, LayoutMismatchError
from ._removed import are_removed
from ._schema import has_types

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Parts = list[tuple[I64, Flags, U8]]

COLUMNS = "last, first, n, numbers, named, codes, checksum"

CHUNK_BYTES = 1 << 20
BLOB = (bytes, type(None))
FAN = 16
"""So many chunks of about one size become one."""


@dataclass(frozen=True)
class Chunk:
    """The codes of ascending numbers."""

    first: int
    last: int
    numbers: I64 | None
    """None if they are all from ``first`` to ``last``"""
    named: Flags | None
    """None if none of the items has a row"""
    codes: U8

    def all_numbers(self) -> I64:
        """The numbers, also of a chunk without gaps."""
        return np.arange(self.first, self.last + 1) if self.numbers is None else self.numbers

    def all_named(self) -> Flags:
        """Which items have a row."""
        return np.zeros(len(self.codes), bool) if self.named is None else self.named


def append(connection: sqlite3.Connection, layout: CodeLayout, first: int, codes: U8, *, named: bool) -> None:
    """Keep the codes of the numbers ``first``, ``first + 1``, …, all larger than those before."""
    step = _rows(layout)
    for start in range(0, len(codes), step):
        part = codes[start : start + step]
        flags = np.ones(len(part), bool) if named else None
        _insert(connection, Chunk(first + start, first + start + len(part) - 1, None, flags, part))
    _merge_tail(connection, layout)


def read(connection: sqlite3.Connection, layout: CodeLayout, after: int = 0) -> Iterator[Chunk]:
    """The chunks with numbers from ``after`` on, in order, checked; each begins at ``after`` or later."""
    previous = -1
    query = f"SELECT {COLUMNS} FROM chunks WHERE last >= ? ORDER BY last"
    for row in connection.execute(query, (after,)):
        chunk = _checked(row, layout)
        if chunk.first <= previous:
            raise FileFormatError(f"is damaged: the chunk up to number {chunk.last} overlaps the one before")
        previous = chunk.last
        yield _from(chunk, after)


def read_one(connection: sqlite3.Connection, layout: CodeLayout, last: int) -> Chunk:
    """The chunk that ends with the number ``last``, checked."""
    query = f"SELECT {COLUMNS} FROM chunks WHERE last = ?"
    return _checked(connection.execute(query, (last,)).fetchone(), layout)


def count(connection: sqlite3.Connection, layout: CodeLayout, after: int = 0) -> int:
    """How many codes :func:`read` is going to give at most; no more than the file has room for."""
    query = "SELECT n, length(codes) FROM chunks WHERE last >= ?"
    total = 0
    for row in connection.execute(query, (after,)):
        if not has_types(row, int, int) or row[0] * layout.n_bytes != row[1]:
            raise FileFormatError("is damaged: a chunk does not hold as many codes as it says")
        total += row[0]
    return total


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
    """What :func:`look_up` says of numbers within the bounds of one chunk."""
    row = connection.execute("SELECT first, n, numbers, named FROM chunks WHERE last = ?", (last,)).fetchone()
    if not has_types(row, int, int, BLOB, BLOB):
        raise FileFormatError(f"is damaged: the chunk up to number {last} has no bounds")
    first, n, gaps, flags = row
    places, kept = numbers - first, np.ones(len(numbers), bool)
    if gaps is not None:
        there = np.frombuffer(gaps, "<i8")
        places = np.minimum(np.searchsorted(there, numbers), len(there) - 1)
        kept = there[places] == numbers
    if flags is None:
        return kept, np.zeros(len(numbers), bool)
    bits = np.unpackbits(np.frombuffer(flags, np.uint8), count=n, bitorder="little").astype(bool)
    return kept, bits[places] & kept


def rewrite(connection: sqlite3.Connection, layout: CodeLayout, lasts: list[int]) -> None:
    """Replace neighbouring chunks by as few as possible, without the codes of removed numbers."""
    waiting: Parts = []
    for last in lasts:
        chunk = read_one(connection, layout, last)
        connection.execute("DELETE FROM chunks WHERE last = ?", (last,))
        numbers = chunk.all_numbers()
        kept = ~are_removed(connection, numbers)
        waiting.append((numbers[kept], chunk.all_named()[kept], chunk.codes[kept]))
        if sum(len(part[0]) for part in waiting) >= _rows(layout):
            waiting = _write_full(connection, layout, waiting)
    _write_full(connection, layout, waiting, also_rest=True)


def _write_full(
    connection: sqlite3.Connection, layout: CodeLayout, waiting: Parts, *, also_rest: bool = False
) -> Parts:
    """Write as many full chunks as there are, and the rest as well if wanted; what is left is returned."""
    if not waiting:
        return []
    numbers, named, codes = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
    step = _rows(layout)
    stop = len(numbers) if also_rest else len(numbers) // step * step
    for start in range(0, stop, step):
        part = slice(start, min(start + step, stop))
        some, flags = numbers[part], named[part]
        first, last = int(some[0]), int(some[-1])
        gaps = None if last - first + 1 == len(some) else some
        _insert(connection, Chunk(first, last, gaps, flags if flags.any() else None, codes[part]))
    return [(numbers[stop:], named[stop:], codes[stop:])]


def _merge_tail(connection: sqlite3.Connection, layout: CodeLayout) -> None:
    """Merge the newest chunks while there are many of about one size: each code is written a few times at most."""
    while True:
        rows = connection.execute("SELECT last, n FROM chunks ORDER BY last DESC LIMIT ?", (2 * FAN,)).fetchall()
        if len(rows) < FAN or rows[0][1] >= _rows(layout):
            return
        room = FAN
        while room <= rows[0][1]:
            room *= FAN
        limit = min(room, _rows(layout))
        run = _leading(rows, limit)
        if len(run) < FAN:
            return
        rewrite(connection, layout, run[::-1])


def _leading(rows: list[tuple[int, int]], limit: int) -> list[int]:
    """The chunks at the beginning that hold fewer codes than ``limit``."""
    return [last for last, _ in takewhile(lambda row: row[1] < limit, rows)]


def _rows(layout: CodeLayout) -> int:
    return max(1, CHUNK_BYTES // layout.n_bytes)


def _insert(connection: sqlite3.Connection, chunk: Chunk) -> None:
    numbers = None if chunk.numbers is None else chunk.numbers.astype("<i8").tobytes()
    named = None if chunk.named is None else np.packbits(chunk.named, bitorder="little").tobytes()
    values = (chunk.last, chunk.first, len(chunk.codes), numbers, named, chunk.codes.tobytes())
    row = (*values, _checksum(*values))
    connection.execute(f"INSERT INTO chunks ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def _checksum(last: int, first: int, n: int, numbers: bytes | None, named: bytes | None, codes: bytes) -> bytes:
    parts = (numbers or b"", named or b"", codes)
    digest = hashlib.sha256(f"{last},{first},{n},{','.join(str(len(part)) for part in parts)};".encode())
    for part in parts:
        digest.update(part)
    return digest.digest()


def _checked(row: tuple[Any, ...], layout: CodeLayout) -> Chunk:
    last, first, n, numbers, named, codes, checksum = row
    broken = FileFormatError(
        f"is damaged: the chunk of numbers {first} to {last} does not match its checksum; restore it from a copy"
    )
    if not has_types(row, int, int, int, BLOB, BLOB, bytes, bytes) or checksum != _checksum(*row[:-1]):
        raise broken
    if len(codes) != n * layout.n_bytes or not 0 <= first <= last or n < 1:
        raise broken
    gaps = None if numbers is None else np.frombuffer(numbers, "<i8").astype(np.int64)
    if gaps is None and n != last - first + 1:
        raise broken
    if gaps is not None and (len(gaps) != n or gaps[0] != first or gaps[-1] != last or (gaps[1:] <= gaps[:-1]).any()):
        raise broken
    if named is not None and len(named) != -(-n // 8):
        raise broken
    flags = None if named is None else np.unpackbits(np.frombuffer(named, np.uint8), count=n, bitorder="little")
    try:
        checked = layout.check(np.frombuffer(codes, np.uint8).reshape(n, layout.n_bytes))
    except LayoutMismatchError as error:
        raise FileFormatError(f"is damaged: the chunk of numbers {first} to {last}: {error}") from None
    return Chunk(first, last, gaps, None if flags is None else flags.astype(bool), checked)


def _from(chunk: Chunk, after: int) -> Chunk:
    """The part of a chunk from the number ``after`` on."""
    if chunk.first >= after:
        return chunk
    start = after - chunk.first if chunk.numbers is None else int(np.searchsorted(chunk.numbers, after))
    numbers = None if chunk.numbers is None else chunk.numbers[start:]
    first = after if numbers is None else int(numbers[0])
    return Chunk(first, chunk.last, numbers, None if chunk.named is None else chunk.named[start:], chunk.codes[start:])

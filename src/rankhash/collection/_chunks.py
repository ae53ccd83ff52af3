"""Rows of bytes in chunks, each with a checksum: every batch appends one, and small ones are merged.

The table ``chunks`` holds the codes of all items, ``vector_chunks`` their vectors.

::

    number    0 ……… last │ ……… last │ … │ … │.│.│      a change appends; nothing before it is touched
              about 1 MB each         small: 16 of about the same size are merged into one

A chunk holds consecutive numbers (``numbers`` is NULL) or, after rows were dropped from it, the remaining numbers.
``named`` has one bit per code: 1 if the item has a row in ``items``. It is NULL if no item of the chunk has one, and
always in ``vector_chunks``.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from .._types import I64, U8, Flags
from ..codes import CodeLayout
from ..errors import FileFormatError, InvalidInputError
from ._removed import are_removed
from ._schema import has_types

Parts = list[tuple[I64, Flags, U8]]

CHUNK_BYTES = 1 << 20
BLOB = (bytes, type(None))
MERGE_FACTOR = 16
"""Number of chunks of about the same size that are merged into one"""


@dataclass(frozen=True)
class RowFormat:
    """One of the two tables, and the form of the rows of its chunks."""

    table: str
    column: str
    n_bytes: int
    check: Callable[[U8], U8]
    """Returns rows ``(n, n_bytes)`` that are valid, and raises InvalidInputError for others"""

    @property
    def columns(self) -> str:
        """The columns of a chunk in the order of ``_checked``."""
        return f"last, first, n, numbers, named, {self.column}, checksum"

    @property
    def n_rows(self) -> int:
        """Rows of a full chunk."""
        return max(1, CHUNK_BYTES // max(self.n_bytes, 1))


def code_format(layout: CodeLayout) -> RowFormat:
    """Codes of a layout."""
    return RowFormat("chunks", "codes", layout.n_bytes, layout.check)


@dataclass(frozen=True)
class Chunk:
    """The rows of ascending numbers."""

    first: int
    last: int
    numbers: I64 | None
    """None if they are all numbers from ``first`` to ``last``"""
    named: Flags | None
    """Whether each item has a row; None if no item has one"""
    rows: U8

    def all_numbers(self) -> I64:
        """The numbers, also of a chunk without gaps."""
        return np.arange(self.first, self.last + 1) if self.numbers is None else self.numbers

    def all_named(self) -> Flags:
        """Which items have a row."""
        return np.zeros(len(self.rows), bool) if self.named is None else self.named


def append(connection: sqlite3.Connection, format: RowFormat, first: int, rows: U8, *, named: bool) -> None:
    """Store the rows of the numbers ``first``, ``first + 1``, …, all larger than those before."""
    step = format.n_rows
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        flags = np.ones(len(part), bool) if named else None
        _insert(connection, format, Chunk(first + start, first + start + len(part) - 1, None, flags, part))
    _merge_tail(connection, format)


def read(connection: sqlite3.Connection, format: RowFormat, after: int = 0) -> Iterator[Chunk]:
    """The chunks with numbers from ``after`` on, in order, checked; each begins at ``after`` or later."""
    previous = -1
    query = f"SELECT {format.columns} FROM {format.table} WHERE last >= ? ORDER BY last"
    for row in connection.execute(query, (after,)):
        chunk = _checked(row, format)
        if chunk.first <= previous:
            raise FileFormatError(f"is damaged: the chunk up to number {chunk.last} overlaps the one before")
        previous = chunk.last
        yield _from(chunk, after)


def read_one(connection: sqlite3.Connection, format: RowFormat, last: int) -> Chunk:
    """The chunk that ends with the number ``last``, checked."""
    query = f"SELECT {format.columns} FROM {format.table} WHERE last = ?"
    row = connection.execute(query, (last,)).fetchone()
    if row is None:
        raise FileFormatError(f"is damaged: the chunk up to number {last} cannot be found")
    return _checked(row, format)


def count(connection: sqlite3.Connection, format: RowFormat, after: int = 0) -> int:
    """An upper limit of the number of rows that ``read`` yields, checked against the size of the file."""
    query = f"SELECT n, length({format.column}) FROM {format.table} WHERE last >= ?"
    total = 0
    for row in connection.execute(query, (after,)):
        if not has_types(row, int, int) or row[0] * format.n_bytes != row[1]:
            raise FileFormatError("is damaged: a chunk does not hold as many rows as it says")
        total += row[0]
    return total


def rewrite(
    connection: sqlite3.Connection,
    format: RowFormat,
    lasts: list[int],
    after: RowFormat | None = None,
    encode: Callable[[I64], U8] | None = None,
) -> None:
    """Replace neighbouring chunks by as few as possible, without the rows of removed numbers.

    With ``after`` (None: the same format) and ``encode``, all items get new rows: ``encode`` returns those of ascending
    numbers.
    """
    waiting: Parts = []
    wanted = format if after is None else after
    for last in lasts:
        chunk = read_one(connection, format, last)
        connection.execute(f"DELETE FROM {format.table} WHERE last = ?", (last,))
        numbers = chunk.all_numbers()
        kept = ~are_removed(connection, numbers)
        numbers = numbers[kept]
        waiting.append((numbers, chunk.all_named()[kept], chunk.rows[kept] if encode is None else encode(numbers)))
        if sum(len(part[0]) for part in waiting) >= wanted.n_rows:
            waiting = write_full(connection, wanted, waiting)
    write_full(connection, wanted, waiting, also_rest=True)


def all_lasts(connection: sqlite3.Connection, format: RowFormat) -> list[int]:
    """The last numbers of all chunks, ascending."""
    return [last for (last,) in connection.execute(f"SELECT last FROM {format.table} ORDER BY last")]


def write_full(connection: sqlite3.Connection, format: RowFormat, waiting: Parts, *, also_rest: bool = False) -> Parts:
    """Write all full chunks, with ``also_rest`` (False) also the rest; return the rows that were not written."""
    if not waiting:
        return []
    numbers, named, rows = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
    step = format.n_rows
    stop = len(numbers) if also_rest else len(numbers) // step * step
    for start in range(0, stop, step):
        part = slice(start, min(start + step, stop))
        some, flags = numbers[part], named[part]
        first, last = int(some[0]), int(some[-1])
        gaps = None if last - first + 1 == len(some) else some
        _insert(connection, format, Chunk(first, last, gaps, flags if flags.any() else None, rows[part]))
    return [(numbers[stop:], named[stop:], rows[stop:])]


def _merge_tail(connection: sqlite3.Connection, format: RowFormat) -> None:
    """Merge the newest chunks while many have about the same size: each row is rewritten O(log n) times."""
    while True:
        rows = connection.execute(
            f"SELECT last, n FROM {format.table} ORDER BY last DESC LIMIT ?", (2 * MERGE_FACTOR,)
        ).fetchall()
        if len(rows) < MERGE_FACTOR or rows[0][1] >= format.n_rows:
            return
        room = MERGE_FACTOR
        while room <= rows[0][1]:
            room *= MERGE_FACTOR
        limit = min(room, format.n_rows)
        run = _leading(rows, limit)
        if len(run) < MERGE_FACTOR:
            return
        rewrite(connection, format, run[::-1])


def _leading(rows: list[tuple[int, int]], limit: int) -> list[int]:
    """The leading chunks with fewer rows than ``limit``."""
    return [last for last, _ in takewhile(lambda row: row[1] < limit, rows)]


def _insert(connection: sqlite3.Connection, format: RowFormat, chunk: Chunk) -> None:
    numbers = None if chunk.numbers is None else chunk.numbers.astype("<i8").tobytes()
    named = None if chunk.named is None else np.packbits(chunk.named, bitorder="little").tobytes()
    values = (chunk.last, chunk.first, len(chunk.rows), numbers, named, chunk.rows.tobytes())
    row = (*values, _checksum(*values))
    connection.execute(f"INSERT INTO {format.table} ({format.columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def _checksum(last: int, first: int, n: int, numbers: bytes | None, named: bytes | None, rows: bytes) -> bytes:
    parts = (numbers or b"", named or b"", rows)
    digest = hashlib.sha256(f"{last},{first},{n},{','.join(str(len(part)) for part in parts)};".encode())
    for part in parts:
        digest.update(part)
    return digest.digest()


def _checked(row: tuple[Any, ...], format: RowFormat) -> Chunk:
    last, first, n, numbers, named, rows, checksum = row
    broken = FileFormatError(
        f"is damaged: the chunk of numbers {first} to {last} does not match its checksum; restore it from a copy"
    )
    if not has_types(row, int, int, int, BLOB, BLOB, bytes, bytes) or checksum != _checksum(*row[:-1]):
        raise broken
    if len(rows) != n * format.n_bytes or not 0 <= first <= last or n < 1 or not have_sizes(n, numbers, named):
        raise broken
    gaps = None if numbers is None else np.frombuffer(numbers, "<i8").astype(np.int64)
    if gaps is None and n != last - first + 1:
        raise broken
    if gaps is not None and (gaps[0] != first or gaps[-1] != last or (gaps[1:] <= gaps[:-1]).any()):
        raise broken
    flags = None if named is None else np.unpackbits(np.frombuffer(named, np.uint8), count=n, bitorder="little")
    try:
        checked = format.check(np.frombuffer(rows, np.uint8).reshape(n, format.n_bytes))
    except InvalidInputError as error:
        raise FileFormatError(f"is damaged: the chunk of numbers {first} to {last}: {error}") from None
    return Chunk(first, last, gaps, None if flags is None else flags.astype(bool), checked)


def have_sizes(n: int, numbers: bytes | None, named: bytes | None) -> bool:
    """Whether the columns of a chunk that are not NULL have the sizes of ``n`` codes."""
    return (numbers is None or len(numbers) == 8 * n) and (named is None or len(named) == -(-n // 8))


def _from(chunk: Chunk, after: int) -> Chunk:
    """The part of a chunk from the number ``after`` on."""
    if chunk.first >= after:
        return chunk
    start = after - chunk.first if chunk.numbers is None else int(np.searchsorted(chunk.numbers, after))
    numbers = None if chunk.numbers is None else chunk.numbers[start:]
    first = after if numbers is None else int(numbers[0])
    return Chunk(first, chunk.last, numbers, None if chunk.named is None else chunk.named[start:], chunk.rows[start:])

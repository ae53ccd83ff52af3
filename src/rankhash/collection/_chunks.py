"""Codes in chunks: one a batch, merged as they pile up, each with a checksum.

::

    number    0 ……… last │ ……… last │ … │ … │.│.│      a change appends; nothing before it is touched
              about a megabyte each   small ones: sixteen of about one size become one

A chunk holds consecutive numbers (``numbers`` is NULL) or, after codes were dropped from it, the numbers that are left.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from ..codes import CodeLayout
from ..errors import FileFormatError, LayoutMismatchError
from ._removed import are_removed

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

CHUNK_BYTES = 1 << 20
FAN = 16
"""So many chunks of about one size become one."""


@dataclass(frozen=True)
class Chunk:
    """The codes of ascending numbers."""

    first: int
    last: int
    numbers: I64 | None
    """None if they are all from ``first`` to ``last``"""
    codes: U8

    def all_numbers(self) -> I64:
        """The numbers, also of a chunk without gaps."""
        return np.arange(self.first, self.last + 1) if self.numbers is None else self.numbers


def append(connection: sqlite3.Connection, layout: CodeLayout, first: int, codes: U8) -> None:
    """Keep the codes of the numbers ``first``, ``first + 1``, …, all larger than those before."""
    step = _rows(layout)
    for start in range(0, len(codes), step):
        part = codes[start : start + step]
        _insert(connection, Chunk(first + start, first + start + len(part) - 1, None, part))
    _merge_tail(connection, layout)


def read(connection: sqlite3.Connection, layout: CodeLayout, after: int = 0) -> Iterator[Chunk]:
    """The chunks with numbers from ``after`` on, in order, checked; each begins at ``after`` or later."""
    previous = -1
    query = "SELECT last, first, n, numbers, codes, checksum FROM chunks WHERE last >= ? ORDER BY last"
    for row in connection.execute(query, (after,)):
        chunk = _checked(row, layout)
        if chunk.first <= previous:
            raise FileFormatError(f"is damaged: the chunk up to number {chunk.last} overlaps the one before")
        previous = chunk.last
        yield _from(chunk, after)


def read_one(connection: sqlite3.Connection, layout: CodeLayout, last: int) -> Chunk:
    """The chunk that ends with the number ``last``, checked."""
    query = "SELECT last, first, n, numbers, codes, checksum FROM chunks WHERE last = ?"
    return _checked(connection.execute(query, (last,)).fetchone(), layout)


def count(connection: sqlite3.Connection, layout: CodeLayout, after: int = 0) -> int:
    """How many codes :func:`read` is going to give at most; no more than the file has room for."""
    query = "SELECT n, length(codes) FROM chunks WHERE last >= ?"
    total = 0
    for n, n_bytes in connection.execute(query, (after,)):
        if n * layout.n_bytes != n_bytes:
            raise FileFormatError("is damaged: a chunk does not hold as many codes as it says")
        total += n
    return total


def are_kept(connection: sqlite3.Connection, numbers: I64) -> NDArray[np.bool_]:
    """Which of the numbers have a code and were not removed."""
    rows = connection.execute("SELECT last, first, numbers IS NOT NULL FROM chunks ORDER BY last").fetchall()
    kept = np.zeros(len(numbers), bool)
    if not rows or not len(numbers):
        return kept
    lasts, firsts, gaps = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    places = np.minimum(np.searchsorted(lasts, numbers), len(lasts) - 1)
    kept = (numbers >= firsts[places]) & (numbers <= lasts[places])
    for place in np.unique(places[kept & (gaps[places] == 1)]):
        here = places == place
        blob = connection.execute("SELECT numbers FROM chunks WHERE last = ?", (int(lasts[place]),)).fetchone()[0]
        kept[here] &= np.isin(numbers[here], np.frombuffer(blob, "<i8"))
    kept[kept] = ~are_removed(connection, numbers[kept])
    return kept


def rewrite(connection: sqlite3.Connection, layout: CodeLayout, lasts: list[int]) -> None:
    """Replace neighbouring chunks by as few as possible, without the codes of removed numbers."""
    waiting: list[tuple[I64, U8]] = []
    for last in lasts:
        chunk = read_one(connection, layout, last)
        connection.execute("DELETE FROM chunks WHERE last = ?", (last,))
        numbers = chunk.all_numbers()
        kept = ~are_removed(connection, numbers)
        waiting.append((numbers[kept], chunk.codes[kept]))
        if sum(len(part[0]) for part in waiting) >= _rows(layout):
            waiting = _write_full(connection, layout, waiting)
    _write_full(connection, layout, waiting, also_rest=True)


def _write_full(
    connection: sqlite3.Connection, layout: CodeLayout, waiting: list[tuple[I64, U8]], *, also_rest: bool = False
) -> list[tuple[I64, U8]]:
    """Write as many full chunks as there are, and the rest as well if wanted; what is left is returned."""
    if not waiting:
        return []
    numbers, codes = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
    step = _rows(layout)
    stop = len(numbers) if also_rest else len(numbers) // step * step
    for start in range(0, stop, step):
        some = numbers[start : min(start + step, stop)]
        first, last = int(some[0]), int(some[-1])
        consecutive = last - first + 1 == len(some)
        _insert(connection, Chunk(first, last, None if consecutive else some, codes[start : start + len(some)]))
    return [(numbers[stop:], codes[stop:])]


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
    codes = chunk.codes.tobytes()
    checksum = _checksum(chunk.last, chunk.first, len(chunk.codes), numbers, codes)
    row = (chunk.last, chunk.first, len(chunk.codes), checksum, numbers, codes)
    connection.execute("INSERT INTO chunks (last, first, n, checksum, numbers, codes) VALUES (?, ?, ?, ?, ?, ?)", row)


def _checksum(last: int, first: int, n: int, numbers: bytes | None, codes: bytes) -> bytes:
    digest = hashlib.sha256(f"{last},{first},{n},{numbers is None};".encode())
    digest.update(numbers or b"")
    digest.update(codes)
    return digest.digest()


def _checked(row: tuple[int, int, int, bytes | None, bytes, bytes], layout: CodeLayout) -> Chunk:
    last, first, n, numbers, codes, checksum = row
    broken = FileFormatError(
        f"is damaged: the chunk of numbers {first} to {last} does not match its checksum; restore it from a copy"
    )
    if checksum != _checksum(last, first, n, numbers, codes):
        raise broken
    if len(codes) != n * layout.n_bytes or not 0 <= first <= last or n < 1:
        raise broken
    named = None if numbers is None else np.frombuffer(numbers, "<i8").astype(np.int64)
    if named is None and n != last - first + 1:
        raise broken
    if named is not None and (
        len(named) != n or named[0] != first or named[-1] != last or (named[1:] <= named[:-1]).any()
    ):
        raise broken
    try:
        checked = layout.check(np.frombuffer(codes, np.uint8).reshape(n, layout.n_bytes))
    except LayoutMismatchError as error:
        raise FileFormatError(f"is damaged: the chunk of numbers {first} to {last}: {error}") from None
    return Chunk(first, last, named, checked)


def _from(chunk: Chunk, after: int) -> Chunk:
    """The part of a chunk from the number ``after`` on."""
    if chunk.first >= after:
        return chunk
    if chunk.numbers is None:
        return Chunk(after, chunk.last, None, chunk.codes[after - chunk.first :])
    start = int(np.searchsorted(chunk.numbers, after))
    return Chunk(int(chunk.numbers[start]), chunk.last, chunk.numbers[start:], chunk.codes[start:])

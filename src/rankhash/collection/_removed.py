"""Removed numbers, as pages of bits, each with a checksum and the generation of its last change."""

from __future__ import annotations

import sqlite3
import zlib

import numpy as np

from .._types import I64, U8, Flags
from ..errors import FileFormatError
from ._schema import has_types

PAGE = 1 << 14
"""Numbers per page, such that the row of a page fits into one page of the file"""
MAX_PAGE = 2**63 // PAGE - 1


def mark_removed(connection: sqlite3.Connection, numbers: I64, generation: int) -> None:
    """Mark numbers, which must be ascending, as removed by this generation."""
    pages = numbers // PAGE
    for page in np.unique(pages):
        bits = np.unpackbits(read_page(connection, int(page)), bitorder="little")
        bits[numbers[pages == page] - page * PAGE] = 1
        bitmap = np.packbits(bits, bitorder="little").tobytes()
        row = (int(page), generation, _checksum(int(page), bitmap), bitmap)
        connection.execute("REPLACE INTO removed (page, generation, checksum, bitmap) VALUES (?, ?, ?, ?)", row)


def are_removed(connection: sqlite3.Connection, numbers: I64) -> Flags:
    """Which of the numbers were removed."""
    found = np.zeros(len(numbers), bool)
    if len(numbers):
        bounds = (int(numbers.min()) // PAGE, int(numbers.max()) // PAGE)
        rows = connection.execute("SELECT page FROM removed WHERE page BETWEEN ? AND ?", bounds).fetchall()
        pages = numbers // PAGE
        for (page,) in rows:
            here = pages == page
            bits = np.unpackbits(read_page(connection, page), bitorder="little").astype(bool)
            found[here] = bits[numbers[here] - page * PAGE]
    return found


def read_page(connection: sqlite3.Connection, page: int) -> U8:
    """The bits of a page, all 0 if nothing of it was removed."""
    row = connection.execute("SELECT bitmap, checksum FROM removed WHERE page = ?", (page,)).fetchone()
    return np.zeros(PAGE // 8, np.uint8) if row is None else _checked(page, *row)


def read_newer(connection: sqlite3.Connection, generation: int) -> dict[int, U8]:
    """The bits of every page that changed after ``generation``."""
    query = "SELECT page, bitmap, checksum FROM removed WHERE generation > ?"
    return {
        page: _checked(page, bitmap, checksum) for page, bitmap, checksum in connection.execute(query, (generation,))
    }


def numbers_of(page: int, bits: U8) -> I64:
    """The numbers whose bits are set."""
    return np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(np.int64) + page * PAGE


def _checksum(page: int, bitmap: bytes) -> int:
    return zlib.crc32(bitmap, zlib.crc32(str(page).encode()))


def _checked(page: int, bitmap: bytes, checksum: int) -> U8:
    if (
        not has_types((bitmap, checksum), bytes, int)
        or len(bitmap) != PAGE // 8
        or not 0 <= page <= MAX_PAGE
        or checksum != _checksum(page, bitmap)
    ):
        raise FileFormatError(f"is damaged: page {page} of the removed items does not match its checksum")
    return np.frombuffer(bitmap, np.uint8)

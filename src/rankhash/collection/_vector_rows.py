"""Stored vectors of a file of version 1: one row per item. The first change moves them into chunks."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator

import numpy as np

from .._types import I64, U8
from ..errors import FileFormatError, InvalidInputError
from . import _chunks
from ._schema import has_types


def chunks(connection: sqlite3.Connection, format: _chunks.RowFormat, after: int) -> Iterator[_chunks.Chunk]:
    """The vectors of the numbers from ``after`` on, in order, checked, as chunks that are not in the file."""
    found = connection.execute(
        "SELECT number, checksum, vector FROM vectors WHERE number >= ? ORDER BY number", (after,)
    )
    while some := found.fetchmany(format.n_rows):
        numbers = np.array([number for number, _, _ in some], np.int64)
        rows = np.stack([_parsed(format, *row) for row in some])
        yield _chunks.Chunk(int(numbers[0]), int(numbers[-1]), numbers, None, rows)


def read(connection: sqlite3.Connection, format: _chunks.RowFormat, numbers: I64) -> U8:
    """The rows of ascending numbers, all of which must exist."""
    query = "SELECT number, checksum, vector FROM vectors WHERE number IN (SELECT value FROM json_each(?))"
    found = connection.execute(query + " ORDER BY number", (json.dumps(numbers.tolist()),)).fetchall()
    there = np.array([number for number, _, _ in found], np.int64)
    if len(there) < len(numbers):
        raise FileFormatError(f"is damaged: the vector of number {np.setdiff1d(numbers, there)[0]} is missing")
    return np.array([_parsed(format, *row) for row in found], np.uint8).reshape(len(numbers), format.n_bytes)


def problems(connection: sqlite3.Connection, format: _chunks.RowFormat) -> Iterator[str]:
    """The problems of damaged rows."""
    for row in connection.execute("SELECT number, checksum, vector FROM vectors ORDER BY number"):
        try:
            _parsed(format, *row)
        except FileFormatError as error:
            yield str(error)


def delete(connection: sqlite3.Connection) -> None:
    """Drop the table."""
    connection.execute("DROP TABLE vectors")


def _parsed(format: _chunks.RowFormat, number: int, checksum: int, data: bytes) -> U8:
    fits = has_types((data, checksum), bytes, int) and len(data) == format.n_bytes
    if not fits or checksum != zlib.crc32(data, number & 0xFFFFFFFF):
        raise FileFormatError(f"is damaged: the vector of number {number} does not match its checksum")
    try:
        row: U8 = format.check(np.frombuffer(data, np.uint8)[None])[0]
    except InvalidInputError:
        raise FileFormatError(f"is damaged: the vector of number {number} is not finite") from None
    return row

"""Ids and metadata of items, one row per item.

An item whose id is its number and that has no metadata needs no row: ten million of them take no space here.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from .._ids import Id
from .._metadata import encode
from .._types import I64
from ..errors import FileFormatError, UnknownIdError
from . import _chunk_rows

_NAMES: dict[type, str] = {int: "integer", str: "text"}
_TEXTS = (str, type(None))
_PART = 20_000  # values handed to SQLite at once

_SUSPECT = re.compile(r"\\u[dD]|[0-9][eE]|[0-9]{300}")
"""Escaped surrogates and possibly infinite numbers; such metadata are parsed and encoded again, which refuses both"""


# -- ids -----------------------------------------------------------------------------------------------------------


def insert(connection: sqlite3.Connection, first: int, ids: Sequence[Id], texts: Sequence[str | None] | None) -> None:
    """Store the ids and metadata of the numbers from ``first`` on; sqlite3.IntegrityError if an id is taken."""
    rows = zip(range(first, first + len(ids)), ids, texts or repeat(None), strict=False)
    connection.executemany(
        "INSERT INTO items (number, id, metadata, checksum) VALUES (?, ?, ?, ?)",
        ((number, name, text, _checksum(number, name, text)) for number, name, text in rows),
    )


def find(connection: sqlite3.Connection, ids: Sequence[Id]) -> I64:
    """The numbers of ids; -1 for ids that are not in the collection."""
    numbers: dict[Id, int] = {}
    for some in _parts(ids):
        query = "SELECT id, number FROM items WHERE id IN (SELECT value FROM json_each(?))"
        numbers.update(connection.execute(query, (encode(some),)).fetchall())
    found = np.fromiter((numbers.get(name, -1) for name in ids), np.int64, len(ids))
    bare = [(i, name) for i, name in enumerate(ids) if found[i] < 0 and isinstance(name, int) and name >= 0]
    if bare:
        places, own = (np.array(column, np.int64) for column in zip(*bare, strict=True))
        kept, named = _chunk_rows.look_up(connection, own)
        found[places] = np.where(kept & ~named, own, -1)
    return found


def find_all(connection: sqlite3.Connection, ids: Sequence[Id]) -> I64:
    """The numbers of ids, all of which must be in the collection."""
    numbers = find(connection, ids)
    missing = np.flatnonzero(numbers < 0)
    if len(missing):
        raise UnknownIdError(f"the id {ids[missing[0]]!r} is not in the collection")
    return numbers


def read(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, tuple[Id, str | None]]:
    """Id and metadata text of numbers that are in the collection, checked."""
    rows: dict[int, tuple[Id, str | None]] = {}
    for some in _parts(numbers):
        query = "SELECT number, id, metadata, checksum FROM items WHERE number IN (SELECT value FROM json_each(?))"
        for number, name, text, checksum in connection.execute(query, (encode(some),)):
            check_row(number, name, text, checksum)
            rows[number] = (name, text)
    bare = np.array([number for number in numbers if number not in rows], np.int64)
    kept, named = _chunk_rows.look_up(connection, bare)
    if (named | ~kept).any():
        raise FileFormatError(f"is damaged: the id of number {bare[named | ~kept][0]} is lost")
    return rows | {number: (number, None) for number in bare.tolist()}


def values(connection: sqlite3.Connection, numbers: Sequence[int], path: str) -> dict[int, tuple[str, Any]]:
    """The type and the value of a field, by number, of the items that have it."""
    known: dict[int, tuple[str, Any]] = {}
    for some in _parts(numbers):
        query = """SELECT number, json_type(metadata, ?), json_extract(metadata, ?) FROM items
            WHERE number IN (SELECT value FROM json_each(?)) AND json_type(metadata, ?) IS NOT NULL"""
        rows = connection.execute(query, (path, path, encode(some), path))
        known |= {number: (kind, value) for number, kind, value in rows}
    return known


def metadata_bytes(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, int]:
    """The length in bytes of the metadata of those numbers that have a row."""
    sizes: dict[int, int] = {}
    for some in _parts(numbers):
        query = """SELECT number, ifnull(length(CAST(metadata AS BLOB)), 0) FROM items
            WHERE number IN (SELECT value FROM json_each(?))"""
        sizes.update(connection.execute(query, (encode(some),)))
    return sizes


def check_row(number: int, name: Any, text: Any, checksum: Any) -> None:
    """Raise FileFormatError unless a row of ``items`` matches its checksum."""
    known = type(name) in _NAMES and type(text) in _TEXTS and type(checksum) is int
    if not known or checksum != _checksum(number, name, text):
        raise FileFormatError(f"is damaged: the id or the metadata of number {number} do not match their checksum")


def parse(text: str | None) -> dict[str, Any] | None:
    """Metadata from JSON text; FileFormatError if ``_metadata.as_text`` could not have written the text."""
    if text is None:
        return None
    try:
        fields = json.loads(text, parse_constant=_refuse_constant)
        if _SUSPECT.search(text):
            encode(fields).encode()
    except (ValueError, RecursionError):
        raise FileFormatError("is damaged: metadata are not JSON") from None
    if not isinstance(fields, dict):
        raise FileFormatError("is damaged: metadata are not a JSON object")
    return fields


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def delete(connection: sqlite3.Connection, numbers: I64) -> int:
    """Delete the rows of numbers; return their number."""
    deleted = 0
    for some in _parts(numbers.tolist()):
        values = (encode(some),)
        rows = connection.execute("DELETE FROM items WHERE number IN (SELECT value FROM json_each(?))", values)
        deleted += rows.rowcount
    return deleted


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (values[start : start + _PART] for start in range(0, len(values), _PART))


def _checksum(number: int, name: Id, text: str | None) -> int:
    return zlib.crc32(f"{number}\0{_NAMES[type(name)]}\0{name}\0{text or ''}".encode("utf-8", "surrogatepass"))

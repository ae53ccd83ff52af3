"""Ids, metadata and vectors of items, a row each.

An item whose id is its number and that has no metadata needs no row: ten million of them cost nothing.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import FileFormatError, IdError, InvalidInputError
from . import _chunks

I64 = NDArray[np.int64]
Id = int | str

MAX_ID_BYTES = 4096
MAX_METADATA_BYTES = 16 << 20
SMALLEST, LARGEST = -(2**63), 2**63 - 2
_NAMES: dict[type, str] = {int: "integer", str: "text"}
_TEXTS = (str, type(None))
_SOME = 20_000  # values handed to SQLite at once

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


# -- checks at the door --------------------------------------------------------------------------------------------


def as_ids(ids: Iterable[Any] | ArrayLike, n: int | None = None, *, unique: bool = True) -> list[Id]:
    """Ids as Python integers and text, all different unless they need not be."""
    if isinstance(ids, (str, bytes, int)) or not hasattr(ids, "__iter__"):
        raise IdError(f"ids must be a list of integers or strings, got {ids!r}")
    names = ids.tolist() if isinstance(ids, np.ndarray) else [_plain(name) for name in ids]
    if n is not None and len(names) != n:
        raise IdError(f"ids must be one for each of {n} vectors, got {len(names)}")
    kinds = {*map(type, names)}
    if not kinds <= {int, str}:
        wrong = next(name for name in names if type(name) not in (int, str))
        raise IdError(f"ids must be integers or strings, got {wrong!r}")
    for name in names if str in kinds or (names and not SMALLEST <= min(names) <= max(names) <= LARGEST) else ():
        _check_id(name)
    if unique and len({*names}) < len(names):
        seen: set[Id] = set()
        again = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise IdError(f"the id {again!r} is given more than once")
    return names


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, (np.integer, np.str_)) else name


def _check_id(name: Id) -> None:
    if isinstance(name, int):
        if not SMALLEST <= name <= LARGEST:
            raise IdError(f"integer ids must lie between -2^63 and 2^63 - 2, got {name}")
        return
    try:
        n_bytes = len(name.encode())
    except UnicodeEncodeError:
        raise IdError(f"the id {name!r} is not text that can be written as UTF-8") from None
    if not 1 <= n_bytes <= MAX_ID_BYTES or "\0" in name:
        raise IdError(f"text ids have 1 to {MAX_ID_BYTES} bytes without NUL, got {name[:40]!r}")


def as_texts(metadata: Sequence[Any], n: int) -> list[str | None]:
    """Metadata as JSON text, None where there is none."""
    if isinstance(metadata, (str, bytes, dict)) or not hasattr(metadata, "__len__") or len(metadata) != n:
        got = f"{len(metadata)} of them" if isinstance(metadata, (list, tuple)) else type(metadata).__name__
        raise InvalidInputError(f"metadata must be a list of one dict or None for each of {n} vectors, got {got}")
    return [None if fields is None else _text(fields, i) for i, fields in enumerate(metadata)]


def _text(fields: Any, row: int) -> str:
    if not isinstance(fields, dict):
        raise InvalidInputError(f"metadata must be dicts, but row {row} has {fields!r:.60}")
    try:
        text = _encode(fields)
        n_bytes = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"metadata must be what JSON can hold, but row {row} is not: {error}") from None
    if n_bytes > MAX_METADATA_BYTES:
        raise InvalidInputError(f"metadata of row {row} take {n_bytes} bytes; at most {MAX_METADATA_BYTES} can be kept")
    return text


# -- ids -----------------------------------------------------------------------------------------------------------


def insert(connection: sqlite3.Connection, first: int, ids: Sequence[Id], texts: Sequence[str | None] | None) -> None:
    """Keep the ids and metadata of the numbers from ``first`` on; sqlite3.IntegrityError if an id is taken."""
    rows = zip(range(first, first + len(ids)), ids, texts or repeat(None), strict=False)
    connection.executemany(
        "INSERT INTO items (number, id, metadata, checksum) VALUES (?, ?, ?, ?)",
        ((number, name, text, _checksum(number, name, text)) for number, name, text in rows),
    )


def find(connection: sqlite3.Connection, ids: Sequence[Id]) -> I64:
    """The numbers of ids; -1 for those that are not there."""
    numbers: dict[Id, int] = {}
    for some in _parts(ids):
        query = "SELECT id, number FROM items WHERE id IN (SELECT value FROM json_each(?))"
        numbers.update(connection.execute(query, (_encode(some),)).fetchall())
    found = np.fromiter((numbers.get(name, -1) for name in ids), np.int64, len(ids))
    bare = [(i, name) for i, name in enumerate(ids) if found[i] < 0 and isinstance(name, int) and name >= 0]
    if bare:
        places, own = (np.array(column, np.int64) for column in zip(*bare, strict=True))
        kept, named = _chunks.look_up(connection, own)
        found[places] = np.where(kept & ~named, own, -1)
    return found


def find_all(connection: sqlite3.Connection, ids: Sequence[Id]) -> I64:
    """The numbers of ids, all of which must be there."""
    numbers = find(connection, ids)
    missing = np.flatnonzero(numbers < 0)
    if len(missing):
        raise IdError(f"the id {ids[missing[0]]!r} is not in the collection")
    return numbers


def read(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, tuple[Id, str | None]]:
    """Id and metadata of numbers that are there, checked."""
    rows: dict[int, tuple[Id, str | None]] = {}
    for some in _parts(numbers):
        query = "SELECT number, id, metadata, checksum FROM items WHERE number IN (SELECT value FROM json_each(?))"
        for number, name, text, checksum in connection.execute(query, (_encode(some),)):
            check_row(number, name, text, checksum)
            rows[number] = (name, text)
    bare = np.array([number for number in numbers if number not in rows], np.int64)
    kept, named = _chunks.look_up(connection, bare)
    if (named | ~kept).any():
        raise FileFormatError(f"is damaged: the id of number {bare[named | ~kept][0]} is lost")
    return rows | {number: (number, None) for number in bare.tolist()}


def check_row(number: int, name: Any, text: Any, checksum: Any) -> None:
    """Raise FileFormatError unless a row of ``items`` matches its checksum."""
    known = type(name) in _NAMES and type(text) in _TEXTS and type(checksum) is int
    if not known or checksum != _checksum(number, name, text):
        raise FileFormatError(f"is damaged: the id or the metadata of number {number} do not match their checksum")


def parse(text: str | None) -> dict[str, Any] | None:
    """Metadata from JSON text."""
    try:
        fields = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        raise FileFormatError("is damaged: metadata are not JSON") from None
    if fields is not None and not isinstance(fields, dict):
        raise FileFormatError("is damaged: metadata are not a JSON object")
    return fields


def delete(connection: sqlite3.Connection, numbers: I64) -> int:
    """Remove the rows and the vectors of numbers; returns how many rows of ``items`` that were."""
    deleted = 0
    for some in _parts(numbers.tolist()):
        values = (_encode(some),)
        connection.execute("DELETE FROM vectors WHERE number IN (SELECT value FROM json_each(?))", values)
        rows = connection.execute("DELETE FROM items WHERE number IN (SELECT value FROM json_each(?))", values)
        deleted += rows.rowcount
    return deleted


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (values[start : start + _SOME] for start in range(0, len(values), _SOME))


def _checksum(number: int, name: Id, text: str | None) -> int:
    return zlib.crc32(f"{number}\0{_NAMES[type(name)]}\0{name}\0{text or ''}".encode("utf-8", "surrogatepass"))

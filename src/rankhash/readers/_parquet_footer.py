"""The sizes of a Parquet file's columns, read from its footer (Thrift's compact protocol).

pyarrow reads them as well, but aborts the process, without an exception, if the metadata of a column are inconsistent.

::

    FileMetaData 4: row groups ─▶ RowGroup 1: columns ─▶ ColumnChunk 3: facts ─▶ 5 values, 6 bytes, 11 dictionary
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ..errors import InvalidInputError

MAX_DEPTH = 32
"""Largest nesting depth of structs and lists; the format has fewer than ten levels"""

_END, _TRUE, _BYTE, _DOUBLE, _BINARY, _LISTS, _MAP, _STRUCT = 0, 1, 3, 7, 8, (9, 10), 11, 12
_INTEGERS = (4, 5, 6)


class ColumnSize(NamedTuple):
    """The declared sizes of one column of one row group."""

    n_values: int
    n_bytes: int
    """Without compression"""
    has_dictionary: bool


def column_sizes(path: str | os.PathLike[str]) -> list[ColumnSize]:
    """The columns of all row groups; InvalidInputError if the footer cannot be read."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        length = int.from_bytes(file.read(4), "little")
        if file.read() != b"PAR1" or not 0 < length <= size - 8:
            raise InvalidInputError(f"{os.fspath(path)} is not a readable Parquet file: it has no footer")
        file.seek(size - 8 - length)
        footer = file.read(length)
    try:
        groups = _Footer(footer).value(_STRUCT).get(4, [])
        return [_size(chunk.get(3, {})) for group in groups for chunk in group.get(1, [])]
    except (IndexError, ValueError, TypeError, AttributeError):
        raise InvalidInputError(f"{os.fspath(path)} is not a readable Parquet file: its footer is damaged") from None


def _size(facts: dict[int, Any]) -> ColumnSize:
    n_values, n_bytes = int(facts.get(5, 0)), int(facts.get(6, 0))
    if min(n_values, n_bytes) < 0:
        raise ValueError("a negative size")
    return ColumnSize(n_values, n_bytes, 11 in facts)


class _Footer:
    """A parser of consecutive values: structs become dicts by field number, texts None."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def value(self, kind: int, depth: int = 0) -> Any:
        """The next value; IndexError or ValueError if there is none of that kind."""
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
        if kind in _INTEGERS:
            number = self._varint()
            return (number >> 1) ^ -(number & 1)
        if kind == _STRUCT:
            return self._struct(depth)
        if kind in _LISTS:
            return self._list(depth)
        if kind == _MAP:
            return self._map(depth)
        if kind not in (_TRUE, _TRUE + 1, _BYTE, _DOUBLE, _BINARY):
            raise ValueError(f"unknown type {kind}")
        self._skip(self._varint() if kind == _BINARY else 8 if kind == _DOUBLE else 1)
        return None

    def _struct(self, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) & 15 != _END:
            kind = head & 15
            number = number + (head >> 4) if head >> 4 else self.value(_INTEGERS[0])
            fields[number] = kind == _TRUE if kind in (_TRUE, _TRUE + 1) else self.value(kind, depth + 1)
        return fields

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        n = head >> 4 if head >> 4 < 15 else self._varint()
        self._check(n)  # a value takes a byte at least
        return [self.value(head & 15, depth + 1) for _ in range(n)]

    def _map(self, depth: int) -> None:
        n = self._varint()
        self._check(n)
        kinds = self._byte() if n else 0
        for _ in range(n):
            self.value(kinds >> 4, depth + 1)
            self.value(kinds & 15, depth + 1)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            part = self._byte()
            number |= (part & 127) << shift
            if part < 128:
                return number
        raise ValueError("a number without end")

    def _skip(self, n: int) -> None:
        self._check(n)
        self._at += n

    def _check(self, n: int) -> None:
        if n > len(self._data) - self._at:
            raise IndexError("cut off")

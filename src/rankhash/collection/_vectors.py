"""Stored vectors, in chunks like the codes; in a file of version 1, one row per item."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from .. import _kernels
from .._types import F32, I64, U8, Array
from ..errors import InvalidInputError
from . import _chunk_rows, _chunks, _vector_rows

DTYPES: dict[str, np.dtype[Any]] = {"float16": np.dtype("<f2"), "float32": np.dtype("<f4")}


def vector_format(kind: str, n_features: int) -> _chunks.RowFormat:
    """Vectors of one dimension and type."""
    n_bytes = n_features * DTYPES[kind].itemsize
    return _chunks.RowFormat("vector_chunks", "vectors", n_bytes, partial(_checked, kind))


def _checked(kind: str, rows: U8) -> U8:
    vectors = as_float32(rows, kind)
    bad = _kernels.first_nonfinite_row(vectors)
    if bad >= 0:
        raise InvalidInputError(f"vector {bad} is not finite")
    return rows


def as_float32(rows: U8, kind: str) -> F32:
    """Rows of bytes as vectors."""
    return np.ascontiguousarray(rows).view(DTYPES[kind]).astype(np.float32, copy=False)


def as_rows(stored: Array) -> U8:
    """Vectors of the stored type as rows of bytes."""
    return np.ascontiguousarray(stored).view(np.uint8).reshape(len(stored), -1)


def rounded(vectors: F32, kind: str) -> Array:
    """Vectors rounded to the stored type."""
    with np.errstate(over="ignore"):
        stored = vectors.astype(DTYPES[kind])
    if kind == "float16" and not np.isfinite(stored).all():
        row = int(np.flatnonzero(~np.isfinite(stored).all(axis=1))[0])
        raise InvalidInputError(
            f"vectors must fit into float16 (at most 65504), but row {row} does not; scale them or store float32"
        )
    return stored


def chunks(
    connection: sqlite3.Connection, format: _chunks.RowFormat, after: int, *, in_rows: bool
) -> Iterator[_chunks.Chunk]:
    """The stored vectors of the numbers from ``after`` on, in order, checked."""
    if in_rows:
        return _vector_rows.chunks(connection, format, after)
    return _chunks.read(connection, format, after)


def read(connection: sqlite3.Connection, format: _chunks.RowFormat, numbers: I64, kind: str, *, in_rows: bool) -> F32:
    """The vectors ``(n, n_features)`` of ascending numbers, all of which must be stored; checked."""
    if in_rows:
        return as_float32(_vector_rows.read(connection, format, numbers), kind)
    return as_float32(_chunk_rows.rows_of(connection, format, numbers), kind)

"""Stored vectors, a row each, and exact distances to them."""

from __future__ import annotations

import json
import sqlite3
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileFormatError, InvalidInputError
from ..neighbors import Neighbors
from ._schema import has_types

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

BLOCK_BYTES = 8 << 20
"""Bytes of float64 in one block of stored vectors that are compared with a query."""

DTYPES: dict[str, np.dtype[Any]] = {"float16": np.dtype("<f2"), "float32": np.dtype("<f4")}


def rounded(vectors: F32, kind: str) -> NDArray[Any]:
    """Vectors as they are going to be stored."""
    with np.errstate(over="ignore"):
        stored = vectors.astype(DTYPES[kind])
    if kind == "float16" and not np.isfinite(stored).all():
        row = int(np.flatnonzero(~np.isfinite(stored).all(axis=1))[0])
        raise InvalidInputError(
            f"vectors must fit into float16 (at most 65504), but row {row} does not; scale them or store float32"
        )
    return stored


def insert(connection: sqlite3.Connection, first: int, stored: NDArray[Any]) -> None:
    """Keep the vectors of the numbers from ``first`` on."""
    row = stored.shape[1] * stored.itemsize
    data = stored.tobytes()
    parts = (data[i : i + row] for i in range(0, len(data), row))
    rows = ((first + i, _checksum(first + i, part), part) for i, part in enumerate(parts))
    connection.executemany("INSERT INTO vectors (number, checksum, vector) VALUES (?, ?, ?)", rows)


def read(connection: sqlite3.Connection, numbers: I64, kind: str, n_features: int) -> F32:
    """The vectors ``(n, n_features)`` of ascending numbers that are all there, checked."""
    query = "SELECT number, checksum, vector FROM vectors WHERE number IN (SELECT value FROM json_each(?))"
    wanted = json.dumps(numbers.tolist())
    vectors = np.empty((len(numbers), n_features), np.float32)
    found = 0
    for number, checksum, data in connection.execute(query + " ORDER BY number", (wanted,)):
        if found == len(numbers) or number != numbers[found]:
            raise FileFormatError(
                f"is damaged: the vector of number {numbers[min(found, len(numbers) - 1)]} is missing"
            )
        vectors[found] = parsed(number, checksum, data, kind, n_features)
        found += 1
    if found < len(numbers):
        raise FileFormatError(f"is damaged: the vector of number {numbers[found]} is missing")
    return vectors


def parsed(number: int, checksum: int, data: bytes, kind: str, n_features: int) -> NDArray[Any]:
    """One row, checked."""
    if (
        not has_types((data, checksum), bytes, int)
        or checksum != _checksum(number, data)
        or len(data) != n_features * DTYPES[kind].itemsize
    ):
        raise FileFormatError(f"is damaged: the vector of number {number} does not match its checksum")
    return np.frombuffer(data, DTYPES[kind])


def reranked(connection: sqlite3.Connection, queries: F32, candidates: I64, k: int, kind: str) -> Neighbors:
    """The k candidates of each query that are nearest by Euclidean distance; of equal ones the smaller number first."""
    numbers = np.unique(candidates[candidates >= 0])
    vectors = read(connection, numbers, kind, queries.shape[1])
    ids = np.full((len(queries), k), -1, np.int64)
    distances = np.full((len(queries), k), np.inf, np.float32)
    for row, query in enumerate(queries.astype(np.float64)):
        some = np.sort(candidates[row][candidates[row] >= 0])
        away = np.sqrt(((vectors[np.searchsorted(numbers, some)] - query) ** 2).sum(axis=1)).astype(np.float32)
        best = np.argsort(away, kind="stable")[:k]
        ids[row, : len(best)], distances[row, : len(best)] = some[best], away[best]
    return Neighbors(ids, distances)


def nearest(
    connection: sqlite3.Connection, queries: F32, numbers: I64, k: int, kind: str, without: I64 | None
) -> Neighbors:
    """The k of ascending numbers whose vectors are nearest to each query; ``without`` has one a query to leave out."""
    ids = np.full((len(queries), k), -1, np.int64)
    distances = np.full((len(queries), k), np.inf, np.float32)
    step = max(1, BLOCK_BYTES // (8 * queries.shape[1]))
    for start in range(0, len(numbers), step):
        some = numbers[start : start + step]
        vectors = read(connection, some, kind, queries.shape[1])
        for row, query in enumerate(queries.astype(np.float64)):
            away = np.sqrt(((vectors - query) ** 2).sum(axis=1)).astype(np.float32)
            if without is not None:
                away[some == without[row]] = np.inf
            both = np.concatenate([distances[row], away])
            best = np.argsort(both, kind="stable")[:k]
            ids[row], distances[row] = np.concatenate([ids[row], some])[best], both[best]
    ids[np.isinf(distances)] = -1
    return Neighbors(ids, distances)


def _checksum(number: int, data: bytes) -> int:
    return zlib.crc32(data, number & 0xFFFFFFFF)

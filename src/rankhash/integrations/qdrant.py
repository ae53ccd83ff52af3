"""Exported points of Qdrant, one JSON object per line, as a collection."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from ..collection import Collection
from ..errors import InvalidInputError
from ..readers import Block
from ..readers.lines import as_float32
from ._documents import PathLike
from ._importing import collected

__all__ = ["from_qdrant"]

MAX_LINE = 64 << 20
"""Bytes of one line"""
N_ROWS = 1024
"""Points that are added at once"""


def from_qdrant(
    lines: PathLike, path: PathLike | None = None, *, metric: str = "cosine", vector: str | None = None
) -> Collection:
    """A collection of the points of a file, whose lines are ``{"id": …, "vector": […], "payload": {…}}``.

    Parameters
    ----------
    lines
        The file. Ids are non-negative integers or text; a missing or null payload is no metadata.
    path
        The file of the collection, which must not exist; default None: the collection stays in memory.
    metric
        ``"cosine"`` (default), ``"euclidean"`` or ``"dot"``.
    vector
        The name of the vector to import; default None: points have a single vector.
    """
    return collected(_blocks(os.fspath(lines), vector), path, metric)


def _blocks(path: str, vector: str | None) -> Iterator[Block]:
    rows: list[tuple[list[float], int | str, dict[str, Any] | None]] = []
    with open(path, "rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE), b""), 1):
            if not line.isspace():
                rows.append(_row(line, f"line {number} of {path}", vector))
            if len(rows) == N_ROWS:
                yield _block(rows, path)
                rows = []
    if rows:
        yield _block(rows, path)


def _block(rows: list[tuple[list[float], int | str, dict[str, Any] | None]], path: str) -> Block:
    widths = {len(vector) for vector, _, _ in rows}
    if len(widths) > 1:
        raise InvalidInputError(f"points must have vectors of one dimension, got {min(widths)} and {max(widths)}")
    vectors, ids, payloads = zip(*rows, strict=True)
    return Block(as_float32(vectors, path), [*ids], [*payloads])


def _row(line: bytes, where: str, name: str | None) -> tuple[list[float], int | str, dict[str, Any] | None]:
    try:
        point = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{where} is not JSON: {error}") from None
    if not isinstance(point, dict) or type(point.get("id")) not in (int, str):
        raise InvalidInputError(f'{where} needs an "id", an integer or text')
    vector, payload = point.get("vector"), point.get("payload")
    if isinstance(vector, dict):
        if name is None and len(vector) != 1:
            names = ", ".join(sorted(vector))[:200]
            raise InvalidInputError(f"{where} has the vectors {names}; choose one by vector=")
        vector = vector.get(name) if name is not None else next(iter(vector.values()))
    if not isinstance(vector, list) or not vector or not {*map(type, vector)} <= {int, float}:
        raise InvalidInputError(f'{where} needs an array of numbers as "vector"')
    if payload is not None and not isinstance(payload, dict):
        raise InvalidInputError(f"{where} has a payload that is not an object")
    return vector, point["id"], payload

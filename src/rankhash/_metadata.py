"""Metadata as JSON texts, from a list of dicts, a table or a dict of columns."""

from __future__ import annotations

import datetime
import json
import math
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import InvalidInputError

MAX_BYTES = 16 << 20
MAX_DEPTH = 100
"""Largest nesting depth of objects and lists; SQLite supports 1000"""

encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def as_texts(metadata: Any, n: int) -> list[str | None]:
    """Metadata of n items as JSON texts, None where there are none."""
    rows = as_dicts(metadata, n)
    return [None if fields is None else as_text(fields, i) for i, fields in enumerate(rows)]


def as_dicts(metadata: Any, n: int) -> Sequence[Any]:
    """One dict or None for each of n items: of a list, a DataFrame, an Arrow table, or a dict of columns."""
    columns = _columns(metadata)
    if columns is not None:
        wrong = next((name for name, values in columns.items() if len(values) != n), None)
        if wrong is not None:
            raise InvalidInputError(
                f"metadata must have one row for each of {n} vectors, but {wrong!r} has {len(columns[wrong])}"
            )
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if isinstance(metadata, (str, bytes)) or not hasattr(metadata, "__len__") or len(metadata) != n:
        got = f"{len(metadata)} of them" if isinstance(metadata, (list, tuple)) else type(metadata).__name__
        raise InvalidInputError(
            f"metadata must be a table, or a list of one dict or None, for each of {n} vectors, got {got}"
        )
    found: Sequence[Any] = metadata
    return found


def _columns(metadata: Any) -> dict[Any, list[Any]] | None:
    """The columns of a table, None if it is no table."""
    if isinstance(metadata, dict):
        return {name: _listed(name, values) for name, values in metadata.items()} or None
    if hasattr(metadata, "to_pydict"):  # Arrow
        arrow: dict[Any, list[Any]] = metadata.to_pydict()
        return arrow
    if hasattr(metadata, "columns") and hasattr(metadata, "__getitem__"):  # pandas, polars
        return {name: metadata[name].to_list() for name in metadata.columns}
    return None


def _listed(name: Any, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__len__"):
        raise InvalidInputError(f"metadata as a dict must hold columns, but {name!r} is {values!r:.60}")
    return values.tolist() if hasattr(values, "tolist") else list(values)


def as_text(fields: Any, row: int) -> str:
    """The JSON text of a dict; values of NumPy, dates and UUIDs are converted, NaN becomes null."""
    if not isinstance(fields, dict):
        raise InvalidInputError(f"metadata must be dicts, but row {row} has {fields!r:.60}")
    _check_nesting(fields, row)
    try:
        try:
            text = encode(fields)
        except (TypeError, ValueError):
            fields = _plain(fields, 0)
            _check_nesting(fields, row)
            text = encode(fields)
        n_bytes = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"metadata must be what JSON can hold, but row {row} is not: {error}") from None
    if n_bytes > MAX_BYTES:
        raise _too_large(row)
    return text


def _plain(value: Any, depth: int) -> Any:
    """A value of a type that JSON supports."""
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        return {key: _plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(part, depth + 1) for part in value]
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas, which need not be installed
        return None
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value) if isinstance(value, uuid.UUID) else value


def _too_large(row: int) -> InvalidInputError:
    return InvalidInputError(f"metadata of row {row} take more than {MAX_BYTES} bytes")


def _check_nesting(fields: dict[Any, Any], row: int) -> None:
    """Raise if a key is not text, or if objects and lists are nested too deeply: then SQLite could not read them."""
    level: list[Any] = [fields]
    n_seen = 0
    for _ in range(MAX_DEPTH):
        n_seen += len(level)
        if 2 * n_seen > MAX_BYTES:  # each takes two brackets; lists that share parts could be endless
            raise _too_large(row)
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                if not all(isinstance(key, str) for key in value):
                    key = next(key for key in value if not isinstance(key, str))
                    raise InvalidInputError(f"metadata must have text as keys, but row {row} has {key!r:.60}")
                value = value.values()
            inner += [part for part in value if isinstance(part, (dict, list, tuple))]
        if not inner:
            return
        level = inner
    raise InvalidInputError(f"metadata may be nested {MAX_DEPTH} levels deep, but row {row} is deeper")

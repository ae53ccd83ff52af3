"""Checks of arguments that a table and its shards share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..._checks import check_integer
from ...errors import InvalidInputError

MAX_EF = 1000
"""Largest number of candidates that pgvector keeps in a search of its graph."""


def check_columns(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    """The further columns of a new table and their types."""
    for name in columns or {}:
        if name in ("id", "code"):
            raise InvalidInputError(f"every table has a column {name!r} already; choose another name")
    return columns or {}


def check_values(columns: Mapping[str, Sequence[Any]] | None, known: Mapping[str, str], n: int) -> dict[str, Any]:
    """The values of further columns, one per code."""
    for name, values in (columns or {}).items():
        if name not in known:
            there = ", ".join(known) or "none"
            raise InvalidInputError(f"the table has no column {name!r} besides id and code; its columns are {there}")
        if len(values) != n:
            raise InvalidInputError(f"column {name!r} must have one value for each of {n} codes, got {len(values)}")
    return dict(columns or {})


def check_params(params: Sequence[Any]) -> Sequence[Any]:
    """The values of a condition, one for each ``%s``."""
    if isinstance(params, (str, bytes, Mapping)) or not isinstance(params, Sequence):
        raise InvalidInputError(f"params must be a list of values, one for each %s, got {params!r}")
    return params


def check_k(k: int) -> int:
    """The number of neighbours."""
    return check_integer("k", k, 1, 2**31 - 1)


def check_ef_search(ef_search: int | None, k: int) -> int:
    """The number of candidates that a search of the graph keeps; None is the larger of 40 and k."""
    if k > MAX_EF:
        raise InvalidInputError(
            f"k must be at most {MAX_EF} in approximate searches, got {k}; search has no such limit"
        )
    return check_integer("ef_search", max(40, k) if ef_search is None else ef_search, k, MAX_EF)

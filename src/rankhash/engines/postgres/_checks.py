"""Checks at the door that the table and its shards share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import IdError, InvalidInputError

MAX_EF = 1000
LARGEST_ID = np.iinfo(np.int64).max - 1


def check_columns(columns: Mapping[str, str] | None) -> Mapping[str, str]:
    """Columns to be made beside those that every table has."""
    for name in columns or {}:
        if name in ("id", "code"):
            raise InvalidInputError(f"the column {name!r} is there already; take another name")
    return columns or {}


def check_values(columns: Mapping[str, Sequence[Any]] | None, known: Mapping[str, str], n: int) -> dict[str, Any]:
    """The values of some columns of a table, one for each code."""
    for name, values in (columns or {}).items():
        if name not in known:
            there = ", ".join(known) or "none"
            raise InvalidInputError(f"the table has no column {name!r} beside id and code; there are {there}")
        if len(values) != n:
            raise InvalidInputError(f"column {name!r} must have one value for each of {n} codes, got {len(values)}")
    return dict(columns or {})


def check_params(params: Sequence[Any]) -> Sequence[Any]:
    """The values of a condition, one for each ``%s``."""
    if isinstance(params, (str, bytes, Mapping)) or not isinstance(params, Sequence):
        raise InvalidInputError(f"params must be a list of values, one for each %s, got {params!r}")
    return params


def check_k(k: int) -> int:
    """How many neighbours."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k < 2**31:
        raise InvalidInputError(f"k must be a positive integer, got {k!r}")
    return int(k)


def check_ef_search(ef_search: int | None, k: int) -> int:
    """How many candidates a search of the graph keeps."""
    kept = max(40, k) if ef_search is None else ef_search
    if isinstance(kept, bool) or not isinstance(kept, (int, np.integer)) or not k <= kept <= MAX_EF:
        raise InvalidInputError(
            f"ef_search must be an integer from k to {MAX_EF}, got {kept!r} with k={k}; search knows no such limit"
        )
    return int(kept)


def check_ids(ids: ArrayLike, n: int | None, *, unique: bool = True) -> NDArray[np.int64]:
    """Ids as an array: ``n`` of them unless that is None, all different if ``unique``."""
    numbers = np.asarray(ids)
    if numbers.size == 0:
        numbers = numbers.astype(np.int64)
    if numbers.ndim != 1 or (n is not None and len(numbers) != n) or numbers.dtype.kind not in "iu":
        wanted = "a row" if n is None else f"a row of {n}"
        raise IdError(f"ids must be {wanted} of integers, got {numbers.dtype} of the shape {numbers.shape}")
    if numbers.size and (numbers.min() < 0 or numbers.max() > LARGEST_ID):
        raise IdError(f"ids must lie between 0 and {LARGEST_ID}, got {numbers.min()} to {numbers.max()}")
    numbers = numbers.astype(np.int64)
    ordered = np.sort(numbers) if unique else numbers[:0]
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise IdError(f"id {repeated[0]} is given more than once")
    return numbers

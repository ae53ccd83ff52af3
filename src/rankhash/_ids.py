"""Ids of items in the forms that people have them: integers of any type, whole floats, text, UUIDs."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .errors import DuplicateIdError, IdError

Id = int | str

MAX_ID_BYTES = 4096
SMALLEST, LARGEST = -(2**63), 2**63 - 2


def as_ids(ids: Iterable[Any] | ArrayLike, n: int | None = None, *, unique: bool = True) -> list[Id]:
    """Ids as Python integers and strings; with ``unique`` (True) they must all be different."""
    if isinstance(ids, (str, bytes, int)) or not hasattr(ids, "__iter__"):
        raise IdError(f"ids must be a list of integers or strings, got {ids!r}")
    if hasattr(ids, "to_pylist"):  # Arrow
        ids = ids.to_pylist()
    names = ids.tolist() if isinstance(ids, np.ndarray) and ids.dtype.kind in "iuU" else [_plain(name) for name in ids]
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
        raise DuplicateIdError(f"the id {again!r} is given more than once")
    return names


def _plain(name: Any) -> Any:
    """An id in Python's own type: integers of any type, whole floats, text and UUIDs."""
    if isinstance(name, (np.integer, np.floating, np.str_)):
        name = name.item()
    if isinstance(name, float) and name.is_integer():
        return int(name)
    return str(name) if isinstance(name, uuid.UUID) else name


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

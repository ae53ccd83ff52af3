"""Checks of parameters: each returns the value in Python's own type, or raises one sentence that names it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._types import I64
from .errors import DuplicateIdError, IdError, InvalidInputError

LARGEST_ID = int(np.iinfo(np.int64).max) - 1
"""The largest id of a code or vector; the id after it still fits into 64 bits."""


def check_integer(name: str, value: Any, low: int = 1, high: int | None = None) -> int:
    """The integer, if it lies between ``low`` (1) and ``high`` (None: no upper limit), both included."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or value < low
        or (high is not None and value > high)
    ):
        raise InvalidInputError(f"{name} must be {_integers(low, high)}, got {value!r}")
    return int(value)


def check_number(name: str, value: Any, low: float, high: float, *, open_interval: bool = False) -> float:
    """The number, if it lies between ``low`` and ``high``; ``open_interval`` (False) leaves both ends out."""
    if not (_is_real(value) and (low < value < high if open_interval else low <= value <= high)):
        how, join = ("between", "and") if open_interval else ("from", "to")
        raise InvalidInputError(f"{name} must be a number {how} {low:g} {join} {high:g}, got {value!r}")
    return float(value)


def check_radius(value: Any, name: str = "radius") -> float:
    """The radius, if it is finite and not negative."""
    if not (_is_real(value) and 0 <= value < math.inf):
        raise InvalidInputError(f"{name} must be a finite number of at least 0, got {value!r}")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """The flag, if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_verbose(value: Any) -> bool:
    """Whether progress is shown: True or False, or an integer as scikit-learn's estimators take it, 0 for silence."""
    if not isinstance(value, (bool, np.bool_, int, np.integer)) or value < 0:
        raise InvalidInputError(f"verbose must be True, False or an integer from 0, got {value!r}")
    return bool(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """The word, if it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInputError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}")
    return value


def check_ids(ids: Any, n: int | None, of: str = "codes", *, unique: bool = True) -> I64:
    """The ids as int64, if they are non-negative integers, all different unless ``unique`` is False.

    ``n`` is the number of ids that there must be, one per item of the kind ``of``; None allows any number.
    """
    numbers = np.asarray(ids)
    if numbers.size == 0:
        numbers = numbers.astype(np.int64)
    if numbers.ndim != 1 or (n is not None and len(numbers) != n):
        wanted = "one-dimensional" if n is None else f"one for each of {n} {of}"
        raise IdError(f"ids must be {wanted}, got the shape {numbers.shape}")
    if numbers.dtype.kind not in "iu":
        raise IdError(f"ids must be integers, got {numbers.dtype}")
    if numbers.size and (numbers.min() < 0 or numbers.max() > LARGEST_ID):
        raise IdError(f"ids must lie between 0 and {LARGEST_ID}, got {numbers.min()} to {numbers.max()}")
    numbers = numbers.astype(np.int64)
    ordered = np.sort(numbers) if unique else numbers[:0]
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise DuplicateIdError(f"id {repeated[0]} is given more than once")
    return numbers


def new_ids(first: int, n: int) -> I64:
    """``n`` consecutive ids from ``first`` on, if none of them is too large."""
    if first > LARGEST_ID - n:
        raise IdError(f"there is no room for {n} ids after {first - 1}; give ids explicitly")
    return np.arange(first, first + n, dtype=np.int64)


def _integers(low: int, high: int | None) -> str:
    if high is not None:
        return f"an integer from {low} to {high}"
    return {0: "a non-negative integer", 1: "a positive integer"}.get(low, f"an integer of at least {low}")


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)

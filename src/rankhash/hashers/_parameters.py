"""Parameters of hashers: checks that name what is wrong, and the form in which they are saved."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..errors import InvalidInputError


def check_integer(name: str, value: Any, low: int, high: int) -> None:
    """Raise unless the parameter is an integer from ``low`` to ``high``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise InvalidInputError(f"{name} must be an integer from {low} to {high}, got {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Raise unless the parameter is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(f"{name} must be True or False, got {value!r}")


def check_number(name: str, value: Any, low: float, high: float, *, open_interval: bool = False) -> None:
    """Raise unless the parameter is a number from ``low`` to ``high``, or strictly between them."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    inside = real and (low < value < high if open_interval else low <= value <= high)
    if not inside:
        how = "between" if open_interval else "from"
        join = "and" if open_interval else "to"
        raise InvalidInputError(f"{name} must be a number {how} {low:g} {join} {high:g}, got {value!r}")


def as_random_state(value: Any) -> np.random.RandomState:
    """What ``random_state`` stands for."""
    try:
        rng: np.random.RandomState = check_random_state(value)
    except ValueError:
        raise InvalidInputError(
            f"random_state must be None, an integer from 0 to 4294967295 or a RandomState, got {value!r}"
        ) from None
    return rng


def storable(name: str, value: Any) -> Any:
    """A parameter as JSON holds it."""
    if isinstance(value, np.generic):
        value = value.item()
    finite = not isinstance(value, float) or np.isfinite(value)
    if value is None or (isinstance(value, (bool, int, float, str)) and finite):
        return value
    if name in ("random_state", "callback"):
        return None
    raise InvalidInputError(f"{name}={value!r} cannot be saved; only numbers, text, True, False and None can")

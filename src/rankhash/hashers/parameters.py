"""Parameters of hashers: random states, callbacks, names of features, and the form in which parameters are saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from .._checks import check_integer, check_number
from ..codes import MAX_ARITY, MAX_SYMBOLS
from ..errors import InvalidInputError

F = TypeVar("F", bound=Callable[..., Any])

Callback = Callable[[dict[str, Any]], object]
"""Called during learning with a dict of numbers; its return value is ignored."""


DEFAULT_BITS = 64
"""Bits of a code if neither symbols nor bits nor bytes are given."""


def symbols_of(n_symbols: int | None, n_bits: int | None, n_bytes: int | None, arity: int) -> int:
    """The number of symbols of a code whose size is given in symbols, bits or bytes; of 64 bits if all are None.

    >>> symbols_of(None, None, 8, 16), symbols_of(None, 63, None, 8), symbols_of(5, None, None, 8)
    (16, 21, 5)
    """
    sizes = {"n_symbols": n_symbols, "n_bits": n_bits, "n_bytes": n_bytes}
    given = [name for name, value in sizes.items() if value is not None]
    if len(given) > 1:
        raise InvalidInputError(f"{' and '.join(given)} are both given; a code has one size")
    if n_symbols is not None:
        return check_integer("n_symbols", n_symbols, 1, MAX_SYMBOLS)
    bits, each = bits_of(n_bits, n_bytes), (check_integer("arity", arity, 2, MAX_ARITY) - 1).bit_length()
    n, rest = divmod(bits, each)
    if rest or not 1 <= n <= MAX_SYMBOLS:
        few, many = (each * min(max(1, count), MAX_SYMBOLS) for count in (n, n + 1))
        raise InvalidInputError(
            f"symbols of arity {arity} take {each} bits each, so that no code of 1 to {MAX_SYMBOLS} symbols has {bits} "
            f"bits; {few} or {many} bits are possible, or another arity"
        )
    return n


def bits_of(n_bits: int | None, n_bytes: int | None) -> int:
    """The requested number of bits; 64 if both are None."""
    if n_bytes is not None:
        return 8 * check_integer("n_bytes", n_bytes, 1, MAX_SYMBOLS)
    return DEFAULT_BITS if n_bits is None else check_integer("n_bits", n_bits, 1, 4 * MAX_SYMBOLS)


def as_random_state(value: Any) -> np.random.RandomState:
    """The RandomState that a ``random_state`` parameter stands for."""
    try:
        rng: np.random.RandomState = check_random_state(value)
    except ValueError:
        raise InvalidInputError(
            f"random_state must be None, an integer from 0 to 4294967295 or a RandomState, got {value!r}"
        ) from None
    return rng


def check_descent(learning_rate: Any, momentum: Any, batch_size: Any, n_iterations: Any) -> None:
    """Raise unless these are parameters of gradient descent with momentum over mini-batches."""
    check_number("learning_rate", learning_rate, 0, 1e6)
    check_number("momentum", momentum, 0, 0.9999)
    check_integer("batch_size", batch_size, 1, 1_000_000)
    check_integer("n_iterations", n_iterations, 1, 2**31 - 1)


def one_blas_thread(learn: F) -> F:
    """The same function with one thread of BLAS, so that sums are rounded alike on any number of cores."""
    return cast("F", threadpool_limits.wrap(limits=1, user_api="blas")(learn))


def check_callback(value: Any) -> None:
    """Raise unless the value is None or callable."""
    if value is not None and not callable(value):
        raise InvalidInputError(f"callback must be a function or None, got {value!r}")


def storable(name: str, value: Any) -> Any:
    """A parameter as JSON stores it."""
    if isinstance(value, np.generic):
        value = value.item()
    finite = not isinstance(value, float) or np.isfinite(value)
    if value is None or (isinstance(value, (bool, int, float, str)) and finite):
        return value
    if name in ("random_state", "callback"):
        return None
    raise InvalidInputError(f"{name}={value!r} cannot be saved; only numbers, text, True, False and None can")


def feature_names(X: Any) -> NDArray[Any] | None:
    """The column names of a frame, by the rules of scikit-learn; None without names."""
    probe = BaseEstimator()
    validate_data(probe, X, skip_check_array=True, ensure_2d=False)
    return getattr(probe, "feature_names_in_", None)

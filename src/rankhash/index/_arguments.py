"""Arguments of searches: checked once, in the form that the kernels read."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_integer
from .._types import F32, U8
from ..codes import CodeLayout
from ..errors import InvalidInputError, LayoutMismatchError

MAX_RESULTS = 2**40
"""Largest number of results of one call, n_queries · k."""


def check_k(k: int, n_queries: int) -> int:
    """The number of neighbours, if the results of all queries can fit into memory."""
    number = check_integer("k", k)
    if n_queries * number > MAX_RESULTS:
        raise InvalidInputError(f"{n_queries} queries with k={k} ask for more results than fit in memory")
    return number


def check_score_tables(layout: CodeLayout, score_tables: ArrayLike) -> F32:
    """The score tables ``(n, n_symbols, arity)`` as contiguous float32, if all of their sums are finite."""
    checked = np.ascontiguousarray(score_tables, dtype=np.float32)
    if checked.ndim != 3 or checked.shape[1:] != (layout.n_symbols, layout.arity):
        raise LayoutMismatchError(
            f"score_tables must have the shape (n, {layout.n_symbols}, {layout.arity}), got {checked.shape}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.abs(checked).max(axis=2).sum(axis=1)
    if not np.isfinite(largest).all():
        raise InvalidInputError("score_tables must be finite, and so must their sums")
    return checked


def weight_tables(layout: CodeLayout, codes: U8, weights: ArrayLike) -> F32:
    """The score tables of codes under weights ``(n_symbols,)``: a differing symbol costs its weight."""
    values = np.asarray(weights, dtype=np.float32)
    if values.shape != (layout.n_symbols,):
        raise LayoutMismatchError(
            f"weights must be one for each of {layout.n_symbols} symbols, got the shape {values.shape}"
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise InvalidInputError("weights must be finite and not negative")
    differs = layout.unpack(codes)[:, :, None] != np.arange(layout.arity, dtype=np.uint8)
    return check_score_tables(layout, differs * values[:, None])

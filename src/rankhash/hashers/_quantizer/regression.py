"""Sums and least squares over symbols: one row of coefficients per value of each symbol."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from ..._types import F64, U8

RIDGE = 30.0
"""Ridge of the regression, equivalent to this number of pseudo-observations of 0 per coefficient."""


def add_rows(rows: F64, symbols: U8) -> F64:
    """The sums ``(n, width)`` of the rows that the symbols ``(n, n_symbols)`` select, one row per symbol.

    >>> add_rows(np.array([[1.0], [2.0], [10.0], [20.0]]), np.array([[0, 1], [1, 1]], np.uint8)).tolist()
    [[21.0], [22.0]]
    """
    sums: F64 = one_hot(symbols, len(rows) // symbols.shape[1]) @ rows
    return sums


def one_hot(symbols: U8, arity: int) -> Any:
    """The one-hot encoding of the symbols as a sparse array ``(n, n_symbols * arity)``."""
    n, n_symbols = symbols.shape
    columns = (symbols + np.arange(n_symbols, dtype=np.int32) * arity).ravel()
    starts = np.arange(n + 1, dtype=np.int64) * n_symbols
    return scipy.sparse.csr_array((np.ones(n * n_symbols), columns, starts), shape=(n, n_symbols * arity))


class SymbolRegression:
    """Ridge regression with one coefficient per value of each symbol."""

    def __init__(self, symbols: U8, arity: int) -> None:
        self._one_hot = one_hot(symbols, arity)
        gram = (self._one_hot.T @ self._one_hot).toarray()
        gram[np.diag_indices_from(gram)] += RIDGE
        self._factor = scipy.linalg.cho_factor(gram, overwrite_a=True)

    def solve(self, targets: F64) -> F64:
        """The rows ``(n_symbols * arity, width)`` whose sums are closest to the targets ``(n, width)``."""
        rows: F64 = scipy.linalg.cho_solve(self._factor, self._one_hot.T @ targets)
        return rows

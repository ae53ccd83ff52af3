"""Sums over the symbols of codes: one row of an array for each value of each symbol."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from ._base import F64

U8 = NDArray[np.uint8]

RIDGE = 30.0
"""Every coefficient is held back as if so many vectors said that it is 0."""


def add_rows(rows: F64, symbols: U8) -> F64:
    """The sums ``(n, width)`` of the rows that the symbols ``(n, n_symbols)`` choose, one for each symbol.

    >>> add_rows(np.array([[1.0], [2.0], [10.0], [20.0]]), np.array([[0, 1], [1, 1]], np.uint8)).tolist()
    [[21.0], [22.0]]
    """
    sums: F64 = chosen_rows(symbols, len(rows) // symbols.shape[1]) @ rows
    return sums


def chosen_rows(symbols: U8, arity: int) -> Any:
    """The sparse array ``(n, n_symbols * arity)`` with a 1 for each symbol's row."""
    n, n_symbols = symbols.shape
    columns = (symbols + np.arange(n_symbols, dtype=np.int32) * arity).ravel()
    starts = np.arange(n + 1, dtype=np.int64) * n_symbols
    return scipy.sparse.csr_array((np.ones(n * n_symbols), columns, starts), shape=(n, n_symbols * arity))


class SymbolRegression:
    """Least squares with one coefficient for each value of each symbol, held back a little."""

    def __init__(self, symbols: U8, arity: int) -> None:
        self._chosen = chosen_rows(symbols, arity)
        together = (self._chosen.T @ self._chosen).toarray()
        together[np.diag_indices_from(together)] += RIDGE
        self._factor = scipy.linalg.cho_factor(together, overwrite_a=True)

    def solve(self, targets: F64) -> F64:
        """The rows ``(n_symbols * arity, width)`` whose sums come closest to the targets ``(n, width)``."""
        rows: F64 = scipy.linalg.cho_solve(self._factor, self._chosen.T @ targets)
        return rows

"""Statistics of learned symbols, and the course of learning as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._types import F32, U8
from ..errors import InvalidInputError

if TYPE_CHECKING:
    from .base import Hasher

TITLES = {
    "value": "objective",
    "average_precision": "average precision of hard codes",
    "balance": "effective number of values per symbol",
    "sharpness": "sharpness of soft codes",
    "error": "mean squared error, relative to the variance",
}
"""Titles of the curves that are drawn, by their names in ``history_``."""


def symbol_shares(symbols: U8, arity: int) -> F32:
    """The fraction ``(n_symbols, arity)`` of points that have each value of each symbol ``(n, n_symbols)``."""
    counts = np.stack([(symbols == value).mean(axis=0) for value in range(arity)], axis=1)
    return counts.astype(np.float32)


def effective_symbols(shares: F32) -> F32:
    """The effective number of values of each symbol: the exponential of their entropy, 1 to arity."""
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.exp(-(shares * logs).sum(axis=1)), np.float32)


def symbol_report(hasher: Hasher, shares: F32) -> str:
    """A table with one line per symbol: the effective number of values, and the percentage of each value."""
    layout, used = hasher.layout_, effective_symbols(shares)
    lines = [f"{type(hasher).__name__}: {layout.n_symbols} symbols of arity {layout.arity}"]
    lines.append("function  effective  symbols %")
    for function, row in enumerate(shares):
        percent = " ".join(f"{100 * share:.0f}" for share in row)
        lines.append(f"{function:8d}  {used[function]:9.2f}  {percent}")
    lines.append(f"    mean  {used.mean():9.2f}")
    return "\n".join(lines)


class SymbolReport:
    """Adds ``report`` and ``plot_history`` to a hasher with ``balance_`` and ``history_``."""

    balance_: F32

    def report(self: Any) -> str:
        """A table of the learned functions, one line per function.

        ``effective`` is the effective number of values (the exponential of their entropy), ``symbols`` the percentage
        of training points that have each value.
        """
        check_is_fitted(self)
        return symbol_report(self, self.balance_)

    def plot_history(self: Any) -> Any:
        """The course of learning as a plotly figure, one plot per curve.

        It needs plotly, ``pip install 'rankhash[report]'`` (in a checkout: ``'.[report]'``), and a hasher that was
        fitted in this process.
        """
        return plot_history(self)


def plot_history(hasher: Hasher) -> Any:
    """A plotly figure with one plot per curve of ``history_``, over the steps."""
    check_is_fitted(hasher)
    if not hasattr(hasher, "history_"):
        raise InvalidInputError("the course of learning is not saved with a hasher; fit it to see it")
    try:
        from plotly.subplots import make_subplots
    except ImportError as error:
        raise InvalidInputError(
            "pictures need plotly: pip install 'rankhash[report]' (in a checkout: '.[report]')"
        ) from error
    history = hasher.history_
    names = [name for name in TITLES if name in history]
    n_rows = 2 if len(names) > 1 else 1
    figure = make_subplots(rows=n_rows, cols=n_rows, subplot_titles=[TITLES[name] for name in names])
    for place, name in enumerate(names):
        row, column = divmod(place, 2)
        figure.add_scatter(x=history["step"], y=history[name], mode="lines+markers", row=row + 1, col=column + 1)
    title = f"{type(hasher).__name__}: the course of learning"
    figure.update_layout(title=title, showlegend=False, template="plotly_white")
    figure.update_xaxes(title_text="step", row=n_rows)
    return figure

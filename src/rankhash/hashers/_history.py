"""The course of learning as a picture."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInputError

CURVES = {
    "value": "objective",
    "average_precision": "average precision of hard codes",
    "balance": "values of a symbol in use",
    "sharpness": "sharpness of soft codes",
    "error": "mean squared error, in units of the variance",
}


def plot_curves(history: dict[str, list[float]], title: str) -> Any:
    """A plotly figure with one small plot a curve, over the steps."""
    try:
        from plotly.subplots import make_subplots
    except ImportError as error:
        raise InvalidInputError("pictures need plotly: pip install 'rankhash[report]'") from error
    names = [name for name in CURVES if name in history]
    n_rows = 2 if len(names) > 1 else 1
    figure = make_subplots(rows=n_rows, cols=n_rows, subplot_titles=[CURVES[name] for name in names])
    for place, name in enumerate(names):
        row, column = divmod(place, 2)
        figure.add_scatter(x=history["step"], y=history[name], mode="lines+markers", row=row + 1, col=column + 1)
    figure.update_layout(title=f"{title}: the course of learning", showlegend=False, template="plotly_white")
    figure.update_xaxes(title_text="step", row=n_rows)
    return figure

"""The course of learning as a picture."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInputError

CURVES = {
    "value": "objective",
    "average_precision": "average precision of hard codes",
    "balance": "values of a symbol in use",
    "sharpness": "sharpness of soft codes",
}


def plot_curves(history: dict[str, list[float]], title: str) -> Any:
    """A plotly figure with one small plot a curve, over the steps."""
    try:
        from plotly.subplots import make_subplots
    except ImportError as error:
        raise InvalidInputError("pictures need plotly: pip install 'rankhash[report]'") from error
    figure = make_subplots(rows=2, cols=2, subplot_titles=list(CURVES.values()))
    for place, name in enumerate(CURVES):
        row, column = divmod(place, 2)
        figure.add_scatter(x=history["step"], y=history[name], mode="lines+markers", row=row + 1, col=column + 1)
    figure.update_layout(title=f"{title}: the course of learning", showlegend=False, template="plotly_white")
    figure.update_xaxes(title_text="step", row=2)
    return figure

"""Figures as data: one line per method with a band of one standard deviation; `plots` draws them.

Methods differ by colour, dash and marker together. The colours are the palette of Okabe and Ito without yellow, which
is distinguishable with any kind of colour vision.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .store import Row
from .summaries import METRICS, RECALLS, courses, curves, recall_curves

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
DASHES = ("solid", "dash", "dot", "dashdot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "triangle-down", "pentagon", "star", "cross")
AXIS_TITLES = {"symbols": "symbols per code", "bits": "bits per code"}
FIGURES = ("ap", "recall", "pooled2", "pooled3", "at50", "at100", "ball2", "ball3", "map")
"""The paper's six groups of figures, and then look-ups and average precision as means over queries."""

LEARNING = {
    "value": ("Objective by training step", "objective"),
    "average_precision": ("Average precision of hard codes on the training vectors", "average precision"),
    "balance": ("Effective number of values per symbol", "values"),
}

Figure = dict[str, Any]


def styles(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Colour, dash and marker of each method; distinct for up to 28 methods.

    >>> styles(["LSH"])["LSH"]
    {'colour': '#0072B2', 'dash': 'solid', 'marker': 'circle'}
    """
    return {
        name: {
            "colour": COLOURS[i % len(COLOURS)],
            "dash": DASHES[i // len(COLOURS) % len(DASHES)],
            "marker": MARKERS[i % len(MARKERS)],
        }
        for i, name in enumerate(names)
    }


def figures(rows: Sequence[Row], axis: str, lengths: Sequence[int], names: Sequence[str]) -> list[Figure]:
    """All figures of a data set on one axis."""
    look = styles(names)
    drawn = [
        _recall(rows, axis, lengths, look) if key == "recall" else _over_length(rows, axis, lengths, key, look)
        for key in FIGURES
    ]
    return [one for one in drawn if one["data"]]


def _over_length(rows: Sequence[Row], axis: str, lengths: Sequence[int], key: str, look: dict[str, Any]) -> Figure:
    found, traces = curves(rows, axis, lengths, key), []
    for name in look:
        points = found.get(name, {})
        if points:
            x, mean = [*points], np.array([point.mean for point in points.values()])
            traces += line(name, x, mean, np.array([point.std for point in points.values()]), look[name], True)
    title = METRICS[key].title
    short = METRICS[key].short
    return figure(f"{key}-{axis}", title, AXIS_TITLES[axis], short, traces, {"tickvals": [*lengths]})


def _recall(rows: Sequence[Row], axis: str, lengths: Sequence[int], look: dict[str, Any]) -> Figure:
    length = min(lengths, key=lambda length: (abs(length - 32), length))
    found, traces = recall_curves(rows, axis, length), []
    for name in look:
        if name in found:
            traces += line(name, [round(float(x), 2) for x in RECALLS], *found[name], look[name], False)
    title = f"Precision over recall, {length} {axis}"
    return figure(f"recall-{axis}", title, "recall", "precision", traces, {"range": [0, 1]})


def learning_figures(rows: Sequence[Row], lengths: Sequence[int], names: Sequence[str]) -> list[Figure]:
    """Training curves of the methods that record them, at the length nearest to 32 bits."""
    length = min(lengths, key=lambda length: (abs(length - 32), length))
    drawn = []
    for key, (title, short) in LEARNING.items():
        found, traces = courses(rows, length, key), []
        for name, style in styles(names).items():
            if name in found:
                traces += line(name, *found[name], style, False, limits=(-np.inf, np.inf))
        drawn.append(figure(f"learning-{key}", f"{title}, {length} bits", "step", short, traces, {}))
    return [one for one in drawn if one["data"]]


def line(
    name: str,
    x: list[Any],
    mean: Any,
    std: Any,
    style: dict[str, str],
    markers: bool,
    limits: tuple[float, float] = (0, 1),
) -> list[Figure]:
    """The band of one method, and its line on top."""
    low, high = np.clip(mean - std, *limits), np.clip(mean + std, *limits)
    band = {
        "x": [*x, *reversed(x)],
        "y": _rounded([*high, *low[::-1]]),
        "fill": "toself",
        "colour": style["colour"],
    }
    line = {
        "x": x,
        "y": _rounded(mean),
        "customdata": _rounded(std),
        "line": {"color": style["colour"], "dash": style["dash"]},
        "marker": {"symbol": style["marker"], "maxdisplayed": 0 if markers else 8},
    }
    return [{"name": name} | trace for trace in (band, line)]


def figure(key: str, title: str, x: str, y: str, traces: list[Figure], x_axis: dict[str, Any]) -> Figure:
    """A figure of lines, with the titles of its axes."""
    layout = {
        "xaxis": {"title": {"text": x}} | x_axis,
        "yaxis": {"title": {"text": y}},
    }
    return {"key": key, "title": title, "data": traces, "layout": layout}


def _rounded(values: Iterable[Any]) -> list[float]:
    return [round(float(value), 4) for value in values]

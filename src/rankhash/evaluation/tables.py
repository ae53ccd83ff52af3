"""The tables of a report, as Markdown, HTML and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from .methods import METHODS
from .store import Row
from .summaries import METRICS, Curves, Metric, Point, curves, name_of

TIMES = ("fit", "encode")
BALLS = ("ball2", "pooled2", "ball3", "pooled3", "left2", "left3", "empty2", "empty3", "none2", "none3")
TABLES = ("ap", "weighted", "map", *BALLS, "at50", "at100", "ndcg", "noise", "kept", "redundancy", *TIMES)


class Style(NamedTuple):
    """The markup of the best mean and of the standard deviation."""

    bold: str
    spread: str


MARKDOWN = Style("**{}**", " ± {}")
HTML = Style("<b>{}</b>", " <span>±{}</span>")
AXES = {"symbols": "At equal symbols (the paper's axis)", "bits": "At equal bits (equal storage)"}


def markdown_table(found: Curves, metric: Metric, names: Sequence[str], lengths: Sequence[int], axis: str) -> str:
    """Mean ± standard deviation by method and length; the best mean is bold."""
    lines = [f"| {axis} | " + " | ".join(str(length) for length in lengths) + " |"]
    lines.append("|---|" + "--:|" * len(lengths))
    rows = _rows(found, metric, names, lengths, MARKDOWN)
    lines += [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows]
    return "\n".join(lines)


def html_table(found: Curves, metric: Metric, names: Sequence[str], lengths: Sequence[int], axis: str) -> str:
    """The table of `markdown_table` as HTML."""
    head = "".join(f"<th scope=col>{length}</th>" for length in lengths)
    rows = [
        f"<tr><td>{escape(name)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        for name, cells in _rows(found, metric, names, lengths, HTML)
    ]
    return (
        f"<div class=table tabindex=0><table><thead><tr><th scope=col>{escape(axis)}</th>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _rows(
    found: Curves, metric: Metric, names: Sequence[str], lengths: Sequence[int], style: Style
) -> Iterator[tuple[str, list[str]]]:
    """The methods that occur, each with its cells by length."""
    best = {} if _lower(metric) else _best(found, lengths)
    for name in names:
        if name in found:
            points = found[name]
            yield name, [_cell(points.get(length), metric, style, best.get(length) == name) for length in lengths]


def _cell(point: Point | None, metric: Metric, style: Style, is_best: bool) -> str:
    if point is None:
        return "–"
    mean = f"{point.mean:.{metric.digits}f}"
    spread = "" if point.n < 2 else style.spread.format(f"{point.std:.{metric.digits}f}")
    return (style.bold.format(mean) if is_best else mean) + spread


def csv_of(rows_by_set: dict[str, list[Row]], lengths: Sequence[int]) -> str:
    """Every mean and standard deviation, one per line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["set", "axis", "metric", "method", "length", "mean", "std", "runs"])
    for name, rows in rows_by_set.items():
        for axis in AXES:
            for key in TABLES:
                for method, points in curves(rows, axis, lengths, key).items():
                    for length, point in points.items():
                        numbers = (f"{point.mean:.5f}", f"{point.std:.5f}", point.n)
                        writer.writerow([name, axis, key, method, length, *numbers])
    return out.getvalue()


def markdown_of(rows_by_set: dict[str, list[Row]], names: Sequence[str], lengths: Sequence[int]) -> str:
    """Every table of every data set, under headings."""
    parts = ["# Results"]
    for name, rows in rows_by_set.items():
        for axis, title in AXES.items():
            for key in TABLES:
                found = curves(rows, axis, lengths, key)
                if found:
                    parts.append(f"## {name}: {METRICS[key].title}. {title}")
                    parts.append(markdown_table(found, METRICS[key], names, lengths, axis))
    return "\n\n".join(parts) + "\n"


def names_of(rows: Iterable[Row]) -> list[str]:
    """The methods that occur, in the order of `METHODS`; tuned methods last."""
    order = {name: place for place, name in enumerate(METHODS)}
    found = {name_of(row): (bool(row.get("tuned_for")), order.get(row["method"], len(order))) for row in rows}
    return sorted(found, key=lambda name: (found[name], name))


def _best(found: Curves, lengths: Sequence[int]) -> dict[int, str]:
    best = {}
    for length in lengths:
        here = {name: points[length].mean for name, points in found.items() if length in points}
        if here:
            best[length] = max(here, key=lambda name: here[name])
    return best


def _lower(metric: Metric) -> bool:
    """Whether lower values are better."""
    return metric.title.startswith(("Time", "Queries", "Runs", "Redundancy"))

"""The tables of a report, as Markdown, HTML and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from html import escape

from .methods import METHODS
from .store import Row
from .summaries import METRICS, Curves, Metric, curves, name_of

TIMES = ("fit", "encode")
BALLS = ("ball2", "ball3", "left2", "left3", "pooled2", "pooled3", "empty2", "empty3")
TABLES = ("ap", "map", *BALLS, "at50", "at100", "ndcg", *TIMES)
AXES = {"symbols": "At equal symbols (the paper's axis)", "bits": "At equal bits (equal storage)"}


def markdown_table(found: Curves, metric: Metric, names: Sequence[str], lengths: Sequence[int], axis: str) -> str:
    """Mean ± standard deviation by method and length; the best mean is bold."""
    lines = [f"| {axis} | " + " | ".join(str(length) for length in lengths) + " |"]
    lines.append("|---|" + "--:|" * len(lengths))
    best = _best(found, lengths)
    for name in names:
        if name in found:
            cells = []
            for length in lengths:
                point = found[name].get(length)
                mean = "–" if point is None else f"{point.mean:.{metric.digits}f}"
                bold = f"**{mean}**" if point is not None and best.get(length) == name and not _lower(metric) else mean
                cells.append(bold if point is None or point.n < 2 else f"{bold} ± {point.std:.{metric.digits}f}")
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def html_table(found: Curves, metric: Metric, names: Sequence[str], lengths: Sequence[int], axis: str) -> str:
    """The same for a page."""
    head = "".join(f"<th scope=col>{length}</th>" for length in lengths)
    rows, best = [], _best(found, lengths)
    for name in names:
        if name in found:
            cells = []
            for length in lengths:
                point = found[name].get(length)
                mean = "–" if point is None else f"{point.mean:.{metric.digits}f}"
                bold = f"<b>{mean}</b>" if best.get(length) == name and not _lower(metric) else mean
                std = "" if point is None or point.n < 2 else f" <span>±{point.std:.{metric.digits}f}</span>"
                cells.append(f"<td>{bold}{std}</td>")
            rows.append(f"<tr><td>{escape(name)}</td>{''.join(cells)}</tr>")
    return (
        f"<div class=table tabindex=0><table><thead><tr><th scope=col>{escape(axis)}</th>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def csv_of(rows_by_set: dict[str, list[Row]], lengths: Sequence[int]) -> str:
    """Every mean and standard deviation, one a line."""
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
    """Every table of every set, under headings."""
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
    """The methods that occur, in the order of the library, the tuned ones behind."""
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
    """Whether a higher value is not a better one."""
    return metric.title.startswith(("Time", "Queries"))

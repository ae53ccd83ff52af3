"""The report of experiments across views: tables and precision-recall curves of every direction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

from ..errors import InvalidInputError
from ._figures import Figure, figure, line, styles
from .cross_modal import RECALLS
from .report import figure_group, fill_page, write_text
from .store import Row
from .summaries import Curves, Metric, Point
from .tables import html_table, markdown_table
from .view_runs import DATABASES, FIRST, VIEW_METHODS, ViewExperiment

TITLE = "Rank-order hash codes across views"
PROTOCOL = """Items have a row in every view, such as a picture and a text. Methods learn from the training items and
their labels. The queries are the test items: one of their views is encoded and searched among the codes of another.
Items that share a label with the query are relevant. The database is either the training items, whose codes were
learned from their labels, or the test items, of which nothing is known but their vectors. Numbers are means over the
seeds. Codes at equal Hamming distance are tied: every number is its expected value over all orders of the ties."""
LEAD = f"""<p>{PROTOCOL}</p>
<p class="soft">Click a method to hide or show it in all figures.</p>"""
METRICS = {
    "map": Metric("Mean average precision over the whole database", lambda row: row["map"]),
    "map50": Metric(f"Mean average precision of the first {FIRST}", lambda row: row["map50"]),
}


def write_view_report(experiments: Sequence[ViewExperiment], rows_by_set: dict[str, list[Row]], out: Path) -> Path:
    """The path of ``report.html``, after it and ``report.md`` were written into a folder."""
    known = [(one, rows_by_set[one.data.name]) for one in experiments if rows_by_set[one.data.name]]
    if not known:
        raise InvalidInputError("there is no finished run to report on; run the experiment first")
    names = [name for name in VIEW_METHODS if any(row["method"] == name for _, rows in known for row in rows)]
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_text(out / "report.md", _markdown(known, names))
        write_text(out / "report.html", _page(known, names))
    except OSError as error:
        raise InvalidInputError(f"the report cannot be written: {error}; all finished runs are stored") from error
    return out / "report.html"


def view_curves(rows: Sequence[Row], database: str, place: int, key: str) -> Curves:
    """A metric of one direction, by method and bits."""
    found: Curves = {}
    for row in rows:
        points = found.setdefault(row["method"], {})
        points.setdefault(row["bits"], Point({})).by_seed[row["seed"]] = row[database][place][key]
    return {name: dict(sorted(points.items())) for name, points in found.items()}


def _sections(rows: Sequence[Row]) -> Iterator[tuple[str, str, int]]:
    """Databases and directions: key, title, place."""
    for database, title in DATABASES.items():
        for place, one in enumerate(rows[0][database]):
            yield database, f"{one['direction']}. {title}", place


def _page(known: Sequence[tuple[ViewExperiment, list[Row]]], names: Sequence[str]) -> str:
    sections = [
        f'<section id="set-{i}">{_section(experiment, rows, names)}</section>'
        for i, (experiment, rows) in enumerate(known)
    ]
    links = [(experiment.data.name, f"set-{i}") for i, (experiment, _) in enumerate(known)]
    return fill_page(TITLE, LEAD, links, sections, names)


def _section(experiment: ViewExperiment, rows: Sequence[Row], names: Sequence[str]) -> str:
    name, lengths = experiment.data.name, sorted(experiment.lengths)
    places = {method: i for i, method in enumerate(names)}
    parts = [f"<h2>{escape(name)}</h2><p>{escape(_sizes(experiment, rows))}</p>"]
    for database, title, place in _sections(rows):
        parts.append(f"<h3>{escape(title)}</h3>")
        for key, metric in METRICS.items():
            table = html_table(view_curves(rows, database, place, key), metric, names, lengths, "bits")
            parts.append(f"<h4>{metric.title}</h4>{table}")
        drawn = [_recall(rows, database, place, bits, names) for bits in lengths]
        heading = f"Precision over recall, {rows[0][database][place]['direction']}"
        parts.append(
            figure_group(f"{name}-{database}-{place}", heading, drawn, places, "the numbers are in the raw results")
        )
    return "".join(parts)


def _recall(rows: Sequence[Row], database: str, place: int, bits: int, names: Sequence[str]) -> Figure:
    traces: list[Figure] = []
    for name, style in styles(names).items():
        found = [row[database][place]["precision"] for row in rows if (row["method"], row["bits"]) == (name, bits)]
        if found:
            curves = np.array(found)
            spread = curves.std(axis=0, ddof=1) if len(found) > 1 else np.zeros(curves.shape[1])
            traces += line(name, [round(float(x), 2) for x in RECALLS], curves.mean(axis=0), spread, style, False)
    return figure(f"recall-{bits}", f"{bits} bits", "recall", "precision", traces, {"range": [0, 1]})


def _sizes(experiment: ViewExperiment, rows: Sequence[Row]) -> str:
    settings, seeds = experiment.settings, sorted({row["seed"] for row in rows})
    widths = ", ".join(f"{name} of {width} numbers" for name, width in settings["widths"].items())
    origins = {f"rankhash {row['origin']['version']}, commit {row['origin']['commit'] or 'unknown'}" for row in rows}
    return (
        f"{settings['n_train']} training items, {settings['n_queries']} queries; views: {widths}; seeds "
        f"{', '.join(map(str, seeds))}. Measured with {'; '.join(sorted(origins))}."
    )


def _markdown(known: Sequence[tuple[ViewExperiment, list[Row]]], names: Sequence[str]) -> str:
    parts = ["# Results across views", PROTOCOL]
    for experiment, rows in known:
        parts += [f"## {experiment.data.name}", _sizes(experiment, rows)]
        for database, title, place in _sections(rows):
            for key, metric in METRICS.items():
                found = view_curves(rows, database, place, key)
                parts.append(f"### {title}. {metric.title}")
                parts.append(markdown_table(found, metric, names, sorted(experiment.lengths), "bits"))
    return "\n\n".join(parts) + "\n"

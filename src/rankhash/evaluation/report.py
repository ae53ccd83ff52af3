"""The report: a self-contained HTML page, and the same numbers as Markdown and CSV.

::

    store ─▶ rows ─▶ figures, tables, pictures, settings ─▶ report.html  report.md  report.csv
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from ..datasets import Dataset
from ..errors import InvalidInputError
from ._figures import Figure, figures, learning_figures, styles
from ._plots import sample, svg
from .images import data_url
from .run import Failure
from .store import Row
from .summaries import METRICS, curves, name_of
from .tables import AXES, TABLES, csv_of, html_table, markdown_of, names_of

TITLE = "Rank-order hash codes: the paper's experiments repeated"
LEAD = """<p>Retrieval quality of codes by the protocol of <i>Rank Subspace Learning for Compact Hash Codes</i> (2015).
Lines are means over the runs, bands are one standard deviation. Codes at equal distance are tied: every number is its
expected value over all orders of the ties. The paper compares codes with equal numbers of <i>symbols</i>. A symbol of
arity K takes log2 K bits, so codes with equal numbers of <i>bits</i> are compared as well.</p>
<p class="soft">Click a method to hide or show it in all figures.</p>"""
FOUND = """Queries (black frame) and their nearest codes, nearest first. ✓ in a solid blue frame: similar by the ground
truth. ✗ in a dashed orange frame: not similar. Codes at equal distance are shown in the order of the split."""


def write_report(
    sets: Sequence[Dataset],
    rows_by_set: dict[str, list[Row]],
    lengths: Sequence[int],
    out: Path,
    failures: Sequence[Failure] = (),
) -> Path:
    """The path of ``report.html``, after it, ``report.md`` and ``report.csv`` were written into a folder.

    ``rows_by_set`` are the finished runs by the name of the data set. The data sets themselves are needed for the
    images.
    """
    known = {name: rows for name, rows in rows_by_set.items() if rows}
    if not known:
        raise InvalidInputError("there is no finished run to report on; run the experiment first")
    names = names_of(row for rows in known.values() for row in rows)
    path = out / "report.html"
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_text(out / "report.md", markdown_of(known, names, lengths))
        write_text(out / "report.csv", csv_of(known, lengths))
        write_text(path, page(sets, known, names, lengths, failures))
    except OSError as error:
        raise InvalidInputError(f"the report cannot be written: {error}; all finished runs are stored") from error
    return path


def write_text(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def page(
    sets: Sequence[Dataset],
    rows_by_set: dict[str, list[Row]],
    names: Sequence[str],
    lengths: Sequence[int],
    failures: Sequence[Failure],
) -> str:
    """The HTML of the page, with figures, tables and images included."""
    data = {one.name: one for one in sets}
    sections = [_section(name, rows, names, lengths, data.get(name)) for name, rows in rows_by_set.items()]
    sections.append(_settings(rows_by_set, failures))
    links = [*((name, f"set-{i}") for i, name in enumerate(rows_by_set)), ("settings", "settings")]
    for i, name in enumerate(rows_by_set):
        sections[i] = f'<section id="set-{i}"><h2>{escape(name)}</h2>{sections[i]}</section>'
    return fill_page(TITLE, LEAD, links, sections, names)


def fill_page(
    title: str, lead: str, links: Sequence[tuple[str, str]], sections: Sequence[str], names: Sequence[str]
) -> str:
    """The HTML of a page; ``links`` are names and anchors of sections, ``names`` the methods of the legend."""
    parts = {
        "title": escape(title),
        "lead": lead,
        "contents": "".join(f'<a href="#{anchor}">{escape(name)}</a>' for name, anchor in links),
        "sections": "\n".join(sections),
        "legend": _legend(names),
        "hiding": "".join(f".hide-{i} .m{i}" + "{display:none}" for i in range(len(names))),
    }
    text = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    head, *rest = text.split("{{")
    pieces = (piece.split("}}", 1) for piece in rest)
    return head + "".join(parts[name] + tail for name, tail in pieces)


def _section(
    name: str,
    rows: Sequence[Row],
    names: Sequence[str],
    lengths: Sequence[int],
    data: Dataset | None,
) -> str:
    parts = [headline(rows, lengths), f"<p>{escape(_sizes(rows))}</p>"]
    places = {method: i for i, method in enumerate(names)}
    for axis, title in AXES.items():
        found = figures(rows, axis, lengths, names)
        if not found:
            continue
        parts.append(figure_group(name, title, found, places, "the numbers are in the tables"))
        tables = (
            f"<h4>{METRICS[key].title}</h4>{html_table(table, METRICS[key], names, lengths, axis)}"
            for key in TABLES
            if (table := curves(rows, axis, lengths, key))
        )
        parts.append(f"<details><summary>Tables: {title[0].lower() + title[1:]}</summary>{''.join(tables)}</details>")
    learned = learning_figures(rows, lengths, names)
    if learned:
        parts.append(figure_group(name, "Training curves", learned, places, "the numbers are in the raw results"))
    parts.append(_pictures(rows, names, data))
    return "".join(parts)


def figure_group(name: str, title: str, found: Sequence[Figure], places: dict[str, int], numbers: str) -> str:
    """Figures under a title; ``numbers`` says to those who cannot see them where the numbers are."""
    parts = [f"<h3>{title}</h3><div class=figures>"]
    for figure in found:
        key, label = f"{name}-{figure['key']}", f"{name}: {figure['title']}; {numbers}"
        parts.append(f'<figure data-figure="{escape(key)}"><figcaption>{escape(figure["title"])}</figcaption>')
        parts.append(f"{svg(figure, places, label)}</figure>")
    return "".join([*parts, "</div>"])


def _legend(names: Sequence[str]) -> str:
    """A button for each method, which hides and shows it."""
    return "".join(
        f"<button type=button aria-pressed=true data-method={i}>{sample(style)}{escape(name)}</button>"
        for i, (name, style) in enumerate(styles(names).items())
    )


def headline(rows: Sequence[Row], lengths: Sequence[int]) -> str:
    """The best method at equal bits, its lead and its time, at the length nearest to 32 bits; empty for one method."""
    at = min(lengths, key=lambda length: (abs(length - 32), length))
    precision = {name: points[at].mean for name, points in curves(rows, "bits", [at], "ap").items()}
    if len(precision) < 2:
        return ""
    best, second, *_ = sorted(precision, key=lambda name: -precision[name])
    seconds = curves(rows, "bits", [at], "fit").get(best, {})
    trained = f", trained in {seconds[at].mean:.2g} s of CPU time" if at in seconds else ""
    lead = precision[best] - precision[second]
    return (
        f"<p class=headline><b>{escape(best)}</b> is best at {at} bits: average precision {precision[best]:.3f}, "
        f"{lead:.3f} more than {escape(second)}{trained}.</p>"
    )


def _sizes(rows: Sequence[Row]) -> str:
    row = rows[0]
    settings, seeds = row["settings"], sorted({row["seed"] for row in rows})
    where = "which are also the database" if not settings["n_database"] else f"{row['n_database']} database vectors"
    truth = (
        f"vectors closer than the mean distance to the {settings['n_neighbors']}th neighbour are similar"
        if settings["truth"] == "neighbors"
        else "vectors of the same class are similar"
    )
    share = sum(row["no_relevant"] for row in rows) / sum(row["n_queries"] for row in rows)
    return (
        f"{settings['n_train']} training vectors, {where}; {row['n_queries']} queries; {truth}; "
        f"{len(seeds)} random split{'s' if len(seeds) > 1 else ''}. {share:.1%} of the queries have no similar vector "
        "in the database: they count in the precision, but not in recall and mean average precision."
    )


def _pictures(rows: Sequence[Row], names: Sequence[str], data: Dataset | None) -> str:
    """Example queries with the nearest codes of each method."""
    shown = _comparable([row for row in rows if row.get("pictures")])
    if data is None or data.image_shape is None or not shown:
        return ""
    shape = data.image_shape

    def picture(row: int, kind: str, mark: str) -> str:
        image = data_url(data.vectors[row].reshape(shape))
        alt = {"query": "query", "right": "right", "wrong": "wrong"}[kind]
        return f'<div class={kind}><img src="{image}" alt="{alt}" loading=lazy>{mark}</div>'

    parts = [f"<h3>Example queries</h3><p>{FOUND}</p>"]
    first = next(iter(shown.values()))["pictures"]
    for place, query in enumerate(first):
        inner = []
        for name in (name for name in names if name in shown):
            row = shown[name]
            found = row["pictures"][place]
            marks = [("right", "✓") if right else ("wrong", "✗") for right in found["right"]]
            line = "".join(picture(i, *mark) for i, mark in zip(found["found"], marks, strict=True))
            label = f"{escape(name)}, {row['n_symbols']} symbols, {row['bits']} bits"
            inner.append(f"<div>{label}</div><div class=found>{picture(query['query'], 'query', '?')}{line}</div>")
        opened = " open" if place == 0 else ""
        parts.append(f"<details{opened}><summary>Query {place + 1}</summary>{''.join(inner)}</details>")
    return "".join(parts)


def _comparable(rows: Sequence[Row]) -> dict[str, Row]:
    """The row of each method whose bits are nearest to those that most methods have."""
    if not rows:
        return {}
    common = Counter(row["bits"] for row in rows).most_common(1)[0][0]
    return {name_of(row): row for row in sorted(rows, key=lambda row: -abs(row["bits"] - common))}


def _settings(rows_by_set: dict[str, list[Row]], failures: Sequence[Failure]) -> str:
    """The section with all settings that are needed to repeat the results."""
    rows = [row for part in rows_by_set.values() for row in part]
    lines = []
    for name, part in rows_by_set.items():
        seeds = sorted({row["seed"] for row in part})
        settings = ", ".join(f"{key} = {_shown(value)}" for key, value in part[0]["settings"].items())
        lines.append((name, f"{settings}; seeds {', '.join(map(str, seeds))} (for the split and for the method)"))
    for name in names_of(rows):
        mine = [row for row in rows if name_of(row) == name]
        arities = ", ".join(map(str, sorted({row["arity"] for row in mine})))
        chosen = sorted({json.dumps(row["parameters"], sort_keys=True) for row in mine})
        words = "chosen by cross-validation at each length" if len(chosen) > 1 else _words(json.loads(chosen[0]))
        lines.append((name, f"arity {arities}; {words}"))
    for origin in sorted({json.dumps(row["origin"], sort_keys=True) for row in rows}):
        facts = json.loads(origin)
        commit = f", commit {facts['commit']}" if facts["commit"] else ""
        machine = f"{facts['cpu']}, {facts['cores']} cores, {facts['isa']}, one thread per run"
        lines.append((facts["date"], f"rankhash {facts['version']}{commit}; {machine}"))
    reasons = {(failure.task.method, failure.reason) for failure in failures}
    lines += [(f"{method}: left out", reason) for method, reason in sorted(reasons)]
    body = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in lines)
    table = f"<div class=table><table class=words><tbody>{body}</tbody></table></div>"
    return f"<section id=settings><h2>Settings</h2>{table}</section>"


def _shown(value: Any) -> str:
    return "up to 3000" if value is None else str(value)


def _words(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in parameters.items()) or "no other parameters"

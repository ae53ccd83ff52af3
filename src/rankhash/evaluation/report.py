"""The report: one HTML page that needs no network, and the same numbers as Markdown and CSV.

::

    store ─▶ rows ─▶ figures, tables, pictures, settings ─▶ report.html  report.md  report.csv
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from ..datasets import Dataset
from ..errors import InvalidInputError
from .figures import Figure, figures, learning_figures, styles
from .images import data_url
from .run import Failure
from .store import Row
from .summaries import METRICS, curves, name_of
from .tables import AXES, TABLES, csv_of, html_table, markdown_of, names_of

TITLE = "Rank-order hash codes: the paper's experiments repeated"
LEAD = """<p>Precision of codes by the protocol of <i>Rank Subspace Learning for Compact Hash Codes</i> (2015). Lines
are means over the runs, bands one standard deviation. Ties have no order: every number is its expected value over all
orders of codes at equal distance. The paper compares codes of equally many <i>symbols</i>; a symbol of arity K takes
log2 K bits, so codes of equally many <i>bits</i> are compared as well.</p>
<p class="soft">Press a method to hide or show it in all figures.</p>"""
FOUND = """Queries (framed black) and their nearest codes, nearest first. ✓ in a solid blue frame: similar by the ground
truth; ✗ in a dashed orange frame: not. Codes at equal distance stand in the order of the split."""
NO_PLOTLY = "the report's figures need plotly: pip install 'rankhash[report]'; report.md and report.csv were written"


def write_report(
    sets: Sequence[Dataset],
    rows_by_set: dict[str, list[Row]],
    lengths: Sequence[int],
    out: Path,
    failures: Sequence[Failure] = (),
) -> Path:
    """Write ``report.html``, ``report.md`` and ``report.csv`` into a folder; the path of the page.

    ``rows_by_set`` are the finished runs by the name of the data set; the sets themselves are needed for pictures.
    """
    known = {name: rows for name, rows in rows_by_set.items() if rows}
    if not known:
        raise InvalidInputError("there is no finished run to report on; run some first")
    names = names_of(row for rows in known.values() for row in rows)
    path = out / "report.html"
    try:
        out.mkdir(parents=True, exist_ok=True)
        _write(out / "report.md", markdown_of(known, names, lengths))
        _write(out / "report.csv", csv_of(known, lengths))
        _write(path, page(sets, known, names, lengths, failures))
    except OSError as error:
        raise InvalidInputError(f"the report cannot be written: {error}; all finished runs are kept") from error
    return path


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
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
    """The page, with everything in it."""
    drawn: dict[str, Any] = {}
    data = {one.name: one for one in sets}
    sections = [_section(name, rows, names, lengths, drawn, data.get(name)) for name, rows in rows_by_set.items()]
    sections.append(_settings(rows_by_set, failures))
    links = [*((name, f"set-{i}") for i, name in enumerate(rows_by_set)), ("settings", "settings")]
    for i, name in enumerate(rows_by_set):
        sections[i] = f'<section id="set-{i}"><h2>{escape(name)}</h2>{sections[i]}</section>'
    parts = {
        "title": escape(TITLE),
        "lead": LEAD,
        "contents": "".join(f'<a href="#{anchor}">{escape(name)}</a>' for name, anchor in links),
        "sections": "\n".join(sections),
        "figures": _embedded(drawn),
        "styles": _embedded(styles(names)),
        "plotly": _plotly(),
    }
    text = resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    head, *rest = text.split("{{")
    pieces = (piece.split("}}", 1) for piece in rest)
    return head + "".join(parts[name] + tail for name, tail in pieces)


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise InvalidInputError(NO_PLOTLY) from None
    return str(get_plotlyjs())


def _embedded(value: Any) -> str:
    """JSON that cannot end the script it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _section(
    name: str,
    rows: Sequence[Row],
    names: Sequence[str],
    lengths: Sequence[int],
    drawn: dict[str, Any],
    data: Dataset | None,
) -> str:
    parts = [f"<p>{escape(_sizes(rows))}</p>"]
    for axis, title in AXES.items():
        found = figures(rows, axis, lengths, names)
        if not found:
            continue
        parts.append(_figures(name, title, found, drawn, "the numbers are in the tables"))
        tables = (
            f"<h4>{METRICS[key].title}</h4>{html_table(table, METRICS[key], names, lengths, axis)}"
            for key in TABLES
            if (table := curves(rows, axis, lengths, key))
        )
        parts.append(f"<details><summary>Tables: {title[0].lower() + title[1:]}</summary>{''.join(tables)}</details>")
    learned = learning_figures(rows, lengths, names)
    if learned:
        parts.append(_figures(name, "The course of learning", learned, drawn, "the numbers are in the raw results"))
    parts.append(_pictures(rows, names, data))
    return "".join(parts)


def _figures(name: str, title: str, found: Sequence[Figure], drawn: dict[str, Any], numbers: str) -> str:
    """Places for figures, which are added to those that are drawn."""
    parts = [f"<h3>{title}</h3><div class=figures>"]
    for figure in found:
        key = f"{name}-{figure['key']}"
        drawn[key] = figure
        label = escape(f"{name}: {figure['title']}; {numbers}")
        parts.append(f"<figure><figcaption>{escape(figure['title'])}</figcaption>")
        parts.append(f'<div class=plot role=img aria-label="{label}" data-figure="{escape(key)}"></div></figure>')
    return "".join([*parts, "</div>"])


def _sizes(rows: Sequence[Row]) -> str:
    row = rows[0]
    settings, seeds = row["settings"], sorted({row["seed"] for row in rows})
    where = "which are also the database" if not settings["n_database"] else f"{row['n_database']} others to search in"
    truth = (
        f"similar is what is closer than the mean distance to the {settings['n_neighbors']}th neighbour"
        if settings["truth"] == "neighbors"
        else "similar is what has the same class"
    )
    share = sum(row["no_relevant"] for row in rows) / sum(row["n_queries"] for row in rows)
    return (
        f"{settings['n_train']} vectors to learn from, {where}; {row['n_queries']} queries; {truth}; "
        f"{len(seeds)} random split{'s' if len(seeds) > 1 else ''}. {share:.1%} of the queries have nothing similar in "
        "the database: they count in the precision, not in recall and mean average precision."
    )


def _pictures(rows: Sequence[Row], names: Sequence[str], data: Dataset | None) -> str:
    """Queries with what each method finds first."""
    shown = {name_of(row): row for row in rows if row.get("pictures")}
    if data is None or data.image_shape is None or not shown:
        return ""
    shape = data.image_shape

    def picture(row: int, kind: str, mark: str) -> str:
        image = data_url(data.vectors[row].reshape(shape))
        alt = {"query": "query", "right": "right", "wrong": "wrong"}[kind]
        return f'<div class={kind}><img src="{image}" alt="{alt}" loading=lazy>{mark}</div>'

    parts = [f"<h3>What is found</h3><p>{FOUND}</p>"]
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


def _settings(rows_by_set: dict[str, list[Row]], failures: Sequence[Failure]) -> str:
    """Everything that is needed to repeat the results."""
    rows = [row for part in rows_by_set.values() for row in part]
    lines = []
    for name, part in rows_by_set.items():
        seeds = sorted({row["seed"] for row in part})
        settings = ", ".join(f"{key} = {_shown(value)}" for key, value in part[0]["settings"].items())
        lines.append((name, f"{settings}; seeds {', '.join(map(str, seeds))} (of the split and of the method)"))
    for name in names_of(rows):
        mine = [row for row in rows if name_of(row) == name]
        arities = ", ".join(map(str, sorted({row["arity"] for row in mine})))
        chosen = sorted({json.dumps(row["parameters"], sort_keys=True) for row in mine})
        words = "chosen by cross-validation at each length" if len(chosen) > 1 else _words(json.loads(chosen[0]))
        lines.append((name, f"arity {arities}; {words}"))
    for origin in sorted({json.dumps(row["origin"], sort_keys=True) for row in rows}):
        facts = json.loads(origin)
        commit = f", commit {facts['commit']}" if facts["commit"] else ""
        machine = f"{facts['cpu']}, {facts['cores']} cores, {facts['isa']}, one thread a run"
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

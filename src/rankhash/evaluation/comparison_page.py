"""The page of ``rankhash compare --plot``: recall over bytes as a figure, and all numbers as a table; no scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from ._figures import figure, line, styles
from ._plots import sample, svg
from .comparison import INDEX, Compared

STYLE = """
:root { color-scheme: light dark; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; }
.plot { width: 100%; font-size: 12px; } .plot text, .legend text { fill: currentColor; }
.plot .line text { fill: inherit; } .plot .line path { fill: none; stroke-width: 2; }
.plot .rule { stroke: currentColor; opacity: .2; } .plot .axis { stroke: currentColor; fill: none; }
.legend span { margin-right: 1.2rem; white-space: nowrap; }
table { border-collapse: collapse; margin-top: 1rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; } th:first-child, td:first-child { text-align: left; }
"""
HEADER = ("method", "bytes", "recall@{k}", "{k} of {candidates}", "fit, s", "encode, µs", "search, ms")


def comparison_page(rows: Sequence[Compared], k: int, candidates: int, advice: str) -> str:
    """An HTML page: the recall of ``candidates`` candidates over the bytes of codes, one line per method."""
    names = list(dict.fromkeys(row.method for row in rows if row.method != INDEX))
    look, lines = styles(names), []
    for name in names:
        mine = sorted((row for row in rows if row.method == name), key=lambda row: row.n_bytes)
        found = np.array([row.recall_reranked for row in mine])
        lines.append(line(name, [row.n_bytes for row in mine], found, 0 * found, look[name], True)[1])
    title = f"The {k} nearest among {candidates} candidates"
    sizes = sorted({row.n_bytes for row in rows if row.method != INDEX})
    drawn = figure("recall", title, "bytes per code", "recall", lines, {"tickvals": sizes})
    legend = "".join(f"<span>{sample(look[name])} {escape(name)}</span>" for name in names)
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{STYLE}</style>"
        f"<h1>{title}</h1><p>{escape(advice)}</p><p class=legend>{legend}</p>"
        f"{svg(drawn, {name: place for place, name in enumerate(names)}, title)}{_table(rows, k, candidates)}</html>\n"
    )


def _table(rows: Sequence[Compared], k: int, candidates: int) -> str:
    head = "".join(f"<th>{title.format(k=k, candidates=candidates)}</th>" for title in HEADER)
    body = "".join(
        f"<tr><td>{escape(row.method)}</td><td>{row.n_bytes}</td><td>{row.recall:.3f}</td>"
        f"<td>{row.recall_reranked:.3f}</td><td>{row.fit_seconds:.2f}</td><td>{row.encode_microseconds:.2f}</td>"
        f"<td>{row.search_milliseconds:.3f}</td></tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

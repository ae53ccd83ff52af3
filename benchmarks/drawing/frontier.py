"""Tables and figures of the benchmarks of ``frontier/``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from drawing.markdown import heading, line, with_origin
from drawing.plot import COLOURS, Panel, draw
from harness.results import Results, Row

OURS, GRAPH = "VectorIndex", "hnswlib"
RECALLS = (0.9, 0.95, 0.99)
SETS = {
    "glove400k": "GloVe, 398k × 50",
    "sentences100k": "sentences, 98k × 384",
    "sift1m": "SIFT, 1.2M × 128",
    "trivia": "questions, 9k × 1536",
    "words100": "GloVe, 339k × 100",
    "static_sentences": "sentences, 458k × 256",
}
TICKS = {1 / (1 - r): f"{r:g}" for r in (0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)}
ROOF = 0.9995
"""Recalls above this are drawn here."""

LIBRARIES = ("faiss-cpu", "hnswlib", "scann", "usearch")


@dataclass(frozen=True)
class Curve:
    """What one contender reaches on a set: (recall, µs) of the configurations that none beats, by rising recall."""

    points: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Curve:
        """The best over all builds."""
        points = sorted(((p["recall"], p["us"]) for row in rows for p in row["points"]), key=lambda p: (-p[0], p[1]))
        kept: list[tuple[float, float]] = []
        for recall, us in points:
            if not kept or us < kept[-1][1]:
                kept.append((recall, us))
        return cls(tuple(reversed(kept)))

    def at(self, recall: float) -> float | None:
        """µs at a recall: between two configurations by the line of the figure; None if no configuration reaches it.

        Below the lowest recall it is the time of the lowest.
        """
        if not self.points or self.points[-1][0] < recall:
            return None
        for (low, fast), (high, slow) in pairwise(self.points):
            if low <= recall <= high:
                share = (_place(recall) - _place(low)) / (_place(high) - _place(low))
                return math.exp((1 - share) * math.log(fast) + share * math.log(slow))
        return self.points[0][1]


def _place(recall: float) -> float:
    """Where a recall stands on the axis of the figure."""
    return -math.log(1 - min(recall, ROOF))


def _curve(results: Results, name: str, contender: str, queries: str) -> Curve:
    return Curve.of(results.having(set=name, contender=contender, queries=queries))


def frontier(results: Results) -> str:
    """µs per query at three recalls, in batches and one at a time; builds and memory."""
    columns = [f"recall {recall:g}" for recall in RECALLS]
    lines = heading("set, contender", [*columns, "build, CPU s", "peak of the build, MB", "RAM, bytes per vector"])
    for name in results.values_of("set"):
        for contender in _contenders(results, name):
            curves = [_curve(results, name, contender, queries) for queries in ("batch", "single")]
            times = [" / ".join(_number(curve.at(recall)) for curve in curves) for recall in RECALLS]
            row = _build(results, name, contender, 0.95)
            facts = [_number(row["cpu_s"]), _number(row["peak_mb"]), _number(row["ram_per_vector"])]
            lines.append(line(f"{SETS.get(name, name)}: {_title(contender)}", [*times, *facts]))
    return with_origin(lines, results, "one thread; µs of CPU time per query, batch / single", libraries=LIBRARIES)


def frontier_brief(results: Results) -> str:
    """Time, memory and build of every contender at recall 0.95."""
    columns = ("in a batch, µs per query", "one at a time, µs", "RAM, bytes per vector", "build, CPU s")
    lines = heading("recall 0.95", columns)
    for name in results.values_of("set"):
        for contender in _contenders(results, name):
            times = [_curve(results, name, contender, queries).at(0.95) for queries in ("batch", "single")]
            row = _build(results, name, contender, 0.95)
            cells = [_number(value) for value in (*times, row["ram_per_vector"], row["cpu_s"])]
            lines.append(line(f"{SETS.get(name, name)}: {_title(contender)}", cells))
    return with_origin(lines, results, "one thread", libraries=LIBRARIES)


def _title(contender: str) -> str:
    return f"**{contender}**" if contender == OURS else contender


def frontier_goals(results: Results) -> str:
    """How many times faster, smaller and quicker to build we are."""
    others = [f"fastest of ScaNN and FAISS, recall {recall:g}" for recall in RECALLS[1:]]
    graphs = [f"{GRAPH}, recall {recall:g}" for recall in RECALLS[1:]]
    columns = [*others, *graphs, f"{GRAPH}: RAM", f"{GRAPH}: build"]
    lines = heading(f"how many times better {OURS} is than", columns)
    for name in results.values_of("set"):
        ours, graph = _curve(results, name, OURS, "batch"), _curve(results, name, GRAPH, "batch")
        peers = [c for c in _contenders(results, name) if c.startswith(("ScaNN", "FAISS"))]
        curves = [_curve(results, name, peer, "batch") for peer in peers]
        best = [_ratio(_least(c.at(recall) for c in curves), ours.at(recall)) for recall in RECALLS[1:]]
        slower = [_ratio(graph.at(recall), ours.at(recall)) for recall in RECALLS[1:]]
        lines.append(line(SETS.get(name, name), [*best, *slower, *_against_graph(results, name)]))
    lines.append(line("goal", ["≥ 1.5", "≥ 1.5", "≥ 5", "≥ 5", "≥ 8", "≥ 5"]))
    return with_origin(lines, results, "one thread, batches", libraries=LIBRARIES)


def _against_graph(results: Results, name: str) -> list[str]:
    if GRAPH not in _contenders(results, name):
        return ["–", "–"]
    ours, graph = (_build(results, name, contender, 0.95) for contender in (OURS, GRAPH))
    return [_ratio(graph[key], ours[key]) for key in ("ram_per_vector", "cpu_s")]


def _contenders(results: Results, name: str) -> list[str]:
    return [*dict.fromkeys(row["contender"] for row in results.having(set=name))]


def _build(results: Results, name: str, contender: str, recall: float) -> Row:
    """The build that is fastest at a recall, or that finds most."""
    rows = results.having(set=name, contender=contender, queries="batch")
    reach = [(row, Curve.of([row])) for row in rows if row["points"]]
    fast = [(time, i) for i, (_, curve) in enumerate(reach) if (time := curve.at(recall)) is not None]
    return (
        reach[min(fast)[1]][0]
        if fast
        else max(rows, key=lambda row: max((p["recall"] for p in row["points"]), default=0))
    )


def _least(times: Iterable[float | None]) -> float | None:
    return min((time for time in times if time is not None), default=None)


def _ratio(theirs: float | None, ours: float | None) -> str:
    return "–" if theirs is None or not ours else f"{theirs / ours:.1f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def curves(results: Results) -> str:
    """Recall over queries per second, one panel per set."""
    legend = results.values_of("contender")
    panels = []
    for name in results.values_of("set"):
        lines = {}
        for contender in _contenders(results, name):
            points = _curve(results, name, contender, "batch").points
            if points:
                lines[contender] = [(1 / (1 - min(recall, ROOF)), 1e6 / us) for recall, us in points]
        panels.append(Panel(SETS.get(name, name), "recall of the ten nearest", lines, unit="/s", x_ticks=TICKS))
    return draw(panels, columns=min(3, len(panels)), legend=legend)


BAR, ROOM, LABEL, LONGEST = 16, 4, 150, 420


def memory(results: Results) -> str:
    """Bytes of RAM per vector of what reaches recall 0.95, as bars."""
    legend = results.values_of("contender")
    parts, y = [], 10
    for name in results.values_of("set"):
        sizes = {c: _ram(results, name, c) for c in _contenders(results, name)}
        known = {contender: size for contender, size in sizes.items() if size is not None}
        parts.append(f'<text x="10" y="{y + 13}" font-weight="bold">{SETS.get(name, name)}</text>')
        y += BAR + ROOM
        for contender, size in known.items():
            width = size / max(known.values()) * LONGEST
            colour = COLOURS[legend.index(contender) % len(COLOURS)]
            parts.append(f'<text x="{LABEL - 6}" y="{y + 12}" text-anchor="end">{contender}</text>')
            parts.append(f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>')
            parts.append(f'<text x="{LABEL + width + 6:.1f}" y="{y + 12}">{size:,.0f}</text>')
            y += BAR + ROOM
        y += 2 * ROOM
    extent = f'width="{LABEL + LONGEST + 70}" height="{y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {extent} font-family="sans-serif" font-size="12">'
    ground = f'<rect width="{LABEL + LONGEST + 70}" height="{y}" fill="white"/>'
    return "\n".join([head, ground, *parts, "</svg>"]) + "\n"


def _ram(results: Results, name: str, contender: str) -> float | None:
    """Of the smallest build that reaches the recall."""
    rows = results.having(set=name, contender=contender, queries="batch")
    return _least(row["ram_per_vector"] for row in rows if Curve.of([row]).at(0.95) is not None)


def growth(results: Results) -> str:
    """Time per query over the number of vectors, and the exponent from each size to the next."""
    columns = ["batch", "exponent", "single", "exponent", "recall reached", "build, CPU s", "RAM, bytes per vector"]
    lines = heading("vectors, recall asked for", columns)
    for recall in ("0.95", "0.99"):
        before: Row | None = None
        for row in results:
            cells = []
            for queries in ("batch", "single"):
                name = f"{queries}_us_{recall}"
                grown = (
                    None if before is None else math.log(row[name] / before[name]) / math.log(row["n"] / before["n"])
                )
                cells += [f"{row[name]:,.0f} µs", "" if grown is None else f"{grown:.2f}"]
            facts = [f"{row[f'recall_{recall}']:.3f}", _number(row["build_cpu_s"]), _number(row["ram_per_vector"])]
            lines.append(line(f"{row['n']:,} × {row['d']}, {recall}", [*cells, *facts]))
            before = row
    return with_origin(lines, results, "one thread, vectors mapped from a file")


def recall_asked(results: Results) -> str:
    """The recall that is reached, and µs per query, for each recall that is asked for."""
    lines = heading("set", [*(f"asked for {recall}" for recall in RECALLS), "bytes of a code", "build, CPU s"])
    for row in results:
        cells = [f"{row[f'recall_{recall}']:.3f} ({row[f'us_{recall}']:.0f} µs)" for recall in RECALLS]
        chosen = row["chosen"].get("bytes_per_vector", "all compared")
        about = f"{row['set']}, {row['n']:,} × {row['d']}, {row['metric']}"
        lines.append(line(about, [*cells, str(chosen), _number(row["build_cpu_s"])]))
    return with_origin(lines, results, "one thread, batches of 500 queries")


TABLES: dict[str, tuple[str, Callable[[Results], str]]] = {
    "frontier": ("frontier", frontier),
    "frontier_brief": ("frontier", frontier_brief),
    "frontier_goals": ("frontier", frontier_goals),
    "growth": ("growth", growth),
    "recall_asked": ("recall_asked", recall_asked),
}
FIGURES: dict[str, tuple[str, Callable[[Results], str]]] = {
    "frontier.svg": ("frontier", curves),
    "frontier_memory.svg": ("frontier", memory),
}

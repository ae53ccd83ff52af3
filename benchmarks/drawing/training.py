"""Tables and figures of the benchmarks of ``training/``, and the growth of look-up."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean

from drawing.markdown import heading, line, with_origin
from drawing.plot import Panel, draw
from harness.results import Results, Row


def baselines(results: Results) -> str:
    """Seconds of CPU to fit and to encode, and the memory that a fit took besides its input."""
    lines = ["| vectors | method | fit, s | encode, µs per vector | memory of the fit, MB |", "|---|---|--:|--:|--:|"]
    for row in results:
        shape = f"{row['n']} × {row['d']}, {row['bits']} bits"
        numbers = f"{row['fit_seconds']:.2f} | {row['encode_microseconds']:.2f} | {row['fit_megabytes']:.0f}"
        lines.append(f"| {shape} | {row['method']} | {numbers} |")
    return with_origin(lines, results, "one thread")


def jrsh_fit(results: Results) -> str:
    """Time and memory of JRSH's fits."""
    lines = heading("vectors", ["threads of BLAS", "seconds", "CPU seconds", "peak memory, MB"])
    for row in results:
        lines.append(line(row["case"], [str(row[key]) for key in ("threads", "seconds", "cpu_seconds", "peak_mb")]))
    return with_origin(lines, results)


def rsh_fit(results: Results) -> str:
    """Nanoseconds per pair, and seconds per fit, of RSH and SRSH."""
    lines = heading("what", ["dimensions", "points", "symbols", "time", "goal"])
    for row in results:
        if row["what"] == "pair":
            time, goal = f"{row['ns']:.0f} ns", f"{row['goal']} ns"
            lines.append(line("one pair", [str(row["d"]), str(row["n_points"]), "1", time, goal]))
        else:
            cells = [str(row[key]) for key in ("d", "n_points", "n_symbols")]
            lines.append(line(f"fit of {row['method']}", [*cells, f"{row['seconds']:.3f} s", ""]))
    return with_origin(lines, results, "one thread")


def jrsh_growth(results: Results) -> str:
    """Seconds of JRSH's fits over symbols, and over training points."""
    shown = {
        (40, "n_symbols", "symbols (1000 points)"): "seconds a fit, d=40, one thread",
        (128, "n", "training points (64 symbols)"): "seconds a fit, d=128, two threads",
    }
    panels = []
    for (d, axis, title), caption in shown.items():
        points = sorted((row[axis], row["seconds"]) for row in results.having(d=d))
        if len(points) > 1:
            panels.append(Panel(caption, title, {"JRSH": points}, linear=True))
    return draw(panels)


def rsh_growth(results: Results) -> str:
    """Seconds of RSH's and SRSH's fits over symbols and over points, with dotted lines of linear growth."""
    fits = results.having(what="fit")
    shown = {
        "n_symbols": ("symbols (1000 points)", [row for row in fits if row["n_points"] == 1000]),
        "n_points": ("training points (32 symbols)", [row for row in fits if row["n_symbols"] == 32]),
    }
    panels = []
    for axis, (title, chosen) in shown.items():
        methods = dict.fromkeys(row["method"] for row in chosen)
        lines = {m: sorted((row[axis], row["seconds"]) for row in chosen if row["method"] == m) for m in methods}
        panels.append(Panel("seconds a fit, d=40, one thread", title, lines, linear=True))
    return draw(panels)


def lookup_growth(results: Results) -> str:
    """Time of a query over the number of codes, one panel per arity."""
    panels = []
    for shape in results.values_of("shape"):
        lines = {}
        for name, label in {"ours": "tables", "scan": "scan"}.items():
            for together in (False, True):
                chosen = results.having(shape=shape, together=together)
                lines[f"{label}{', 100 together' if together else ''}"] = [_point(row, name) for row in chosen]
        panels.append(Panel(f"{shape}, 64 bits, top 10: time of a query", "codes", lines))
    return draw(panels)


def _point(row: Row, name: str) -> tuple[float, float]:
    return row["n"], mean(row["samples"][name])


TABLES: dict[str, tuple[str, Callable[[Results], str]]] = {
    "baselines": ("baselines", baselines),
    "jrsh_fit": ("jrsh_fit", jrsh_fit),
    "rsh_fit": ("rsh_fit", rsh_fit),
}
FIGURES: dict[str, tuple[str, Callable[[Results], str]]] = {
    "train_jrsh.svg": ("jrsh_fit", jrsh_growth),
    "train_rsh.svg": ("rsh_fit", rsh_growth),
    "lookup_growth.svg": ("lookup_growth", lookup_growth),
}

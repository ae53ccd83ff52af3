"""Tables of choices within one method."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean

from drawing.markdown import heading, line, with_origin
from harness.results import Results, Row

SETS = {"digits": "digits", "gaussian": "Gaussian vectors"}
SEEDS = "mean over seeds 0 to 2"


def _mean(rows: list[Row]) -> str:
    return f"{mean(row['ap'] for row in rows):.3f}" if rows else "–"


def pstable_width(results: Results) -> str:
    """Average precision by set, arity and width; None is the default width."""
    widths = [width for width in results.values_of("width") if width is not None]
    lines = heading("average precision, 64 bits", ["default width", *(f"{width:g}" for width in widths)])
    for name, title in SETS.items():
        for arity in sorted({*results.values_of("arity")}):
            found = [results.having(set=name, method="PStableLSH", arity=arity, width=w) for w in (None, *widths)]
            lines.append(line(f"{title}, arity {arity}", [_mean(rows) for rows in found]))
        lines.append(line(f"{title}, LSH", [_mean(results.having(set=name, method="LSH")), *("" for _ in widths)]))
    return with_origin(lines, results, SEEDS)


def rsh_updates(results: Results) -> str:
    """Average precision by length, and CPU seconds of the longest fit."""
    lengths = sorted({*results.values_of("n_symbols")})
    columns = [*(f"{n} symbols" for n in lengths), f"CPU s of a fit, {lengths[-1]} symbols"]
    lines = heading("average precision", columns)
    for name in results.values_of("method"):
        cells = [_mean(results.having(method=name, n_symbols=n)) for n in lengths]
        seconds = mean(row["cpu_seconds"] for row in results.having(method=name, n_symbols=lengths[-1]))
        lines.append(line(name, [*cells, f"{seconds:.1f}"]))
    return with_origin(lines, results, SEEDS)


TABLES: dict[str, tuple[str, Callable[[Results], str]]] = {
    "pstable_width": ("pstable_width", pstable_width),
    "rsh_updates": ("rsh_updates", rsh_updates),
}

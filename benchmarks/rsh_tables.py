"""Tables of RSH and SRSH from ``quality_rsh.py`` and ``quality_sets.py``, for ``render.py``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

from markdown import NOT_MEASURED, SETS, head, line, load, spread

LENGTHS = (8, 16, 32, 64)
METHODS = {
    "LSH": "LSH",
    "WTA": "WTA",
    "RSH untrained": "RSH, not trained",
    "RSH": "RSH",
    "SRSH bound": 'SRSH, `update="bound"`',
    "SRSH hinge": "SRSH",
}
ORDER = ("WTA", "RSH", "SRSH")


def paper(folder: Path) -> str:
    """Average precision by the paper's protocol, mean ± standard deviation over the splits."""
    kept = load(folder, "quality_rsh")
    if kept is None:
        return NOT_MEASURED
    lines: list[str] = []
    for name, title in SETS.items():
        lines += head(title, LENGTHS)
        for method, label in METHODS.items():
            cells = [_precisions(kept["rows"], name, method, n_symbols) for n_symbols in LENGTHS]
            lines.append(line(label, map(spread, cells)))
        lines.append("")
    splits = len(_precisions(kept["rows"], "mnist", "WTA", 8))
    return "\n".join([*lines, f"_{splits} splits; {_origin(kept['provenance'])}._"]) + "\n"


def _precisions(rows: list[dict[str, Any]], name: str, method: str, n_symbols: int) -> list[float]:
    wanted = {"set": name, "method": method, "n_symbols": n_symbols}
    return [row["ap"] for row in rows if wanted.items() <= row.items()]


def sets(folder: Path) -> str:
    """WTA, RSH and SRSH on more sets; bold where they are not in this order."""
    kept = load(folder, "quality_sets")
    if kept is None:
        return NOT_MEASURED
    rows = [row for part in kept.values() for row in part["rows"]]
    lines = ["| set | truth | " + " | ".join(map(str, LENGTHS)) + " |", "|---" * (2 + len(LENGTHS)) + "|"]
    for name, truth in dict.fromkeys((row["set"], row["truth"]) for row in rows):
        cells = []
        for n_symbols in LENGTHS:
            chosen = [r["scores"] for r in rows if (r["set"], r["truth"], r["n_symbols"]) == (name, truth, n_symbols)]
            means = [mean(scores[method] for scores in chosen) for method in ORDER]
            shown = " ".join(f"{value:.3f}" for value in means)
            cells.append(shown if means == sorted(means) else f"**{shown}**")
        lines.append(line(f"{name} | {truth}", cells))
    origins = dict.fromkeys(_origin(part["provenance"]) for part in kept.values())
    splits = len({row["seed"] for row in rows})
    return "\n".join([*lines, "", f"_{splits} splits; {'; '.join(origins)}._"]) + "\n"


def _origin(facts: dict[str, Any]) -> str:
    changed = " with uncommitted changes" if facts["dirty"] else ""
    return f"commit {facts['commit'][:10]}{changed}, {facts['date'][:10]}"


BLOCKS: dict[str, Callable[[Path], str]] = {"rsh_paper": paper, "rsh_sets": sets}

"""From raw samples of a comparison to medians, ratios and goals.

A contender is named ``peer`` or ``peer:variant``; a peer counts with its variant of the smallest median.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from harness.results import Facts, Row

OURS = "ours"
SIGNS = {"at_least": "≥", "at_most": "≤"}


@dataclass(frozen=True)
class Line:
    """One line of a table: ours and one peer."""

    case: str
    unit: str
    ours: float
    peer: str
    theirs: float
    ratio: float
    goal: str
    reached: bool | None  # None: given for information, no goal


def lines_of(row: Row) -> list[Line]:
    """The lines of one case, computed from its raw samples."""
    samples = row["samples"][row["clock"]]
    return [_line(row, samples, comparison) for comparison in row["comparisons"]]


def best(samples: dict[str, list[float]], peer: str) -> tuple[str, float]:
    """The variant of ``peer`` with the smallest median, and that median."""
    medians = {name: median(v) for name, v in samples.items() if name.split(":")[0] == peer}
    if not medians:
        raise KeyError(f"no samples of {peer!r}, only of {sorted(samples)}")
    name = min(medians, key=medians.__getitem__)
    return name.partition(":")[2], medians[name]


def _line(row: Row, samples: dict[str, list[float]], comparison: Facts) -> Line:
    _, ours = best(samples, OURS)
    variant, theirs = best(samples, comparison["peer"])
    ratio = theirs / ours if comparison["kind"] == "speedup" else ours / theirs
    goal = row["goals"].get(comparison["peer"])
    title = comparison["title"] + (f" ({variant})" if variant and comparison["show_variant"] else "")
    n_bytes = comparison["n_bytes"]
    unit = "GB/s" if n_bytes else row["unit"]
    shown = [n_bytes / t / 1e9 if n_bytes else t * row["scale"] for t in (ours, theirs)]
    reached = None if goal is None else _is_reached(ratio, goal) and row["agree"] is not False
    return Line(row["case"], unit, shown[0], title, shown[1], ratio, _goal_text(goal), reached)


def _is_reached(ratio: float, goal: dict[str, float]) -> bool:
    return goal.get("at_least", ratio) <= ratio <= goal.get("at_most", ratio)


def _goal_text(goal: dict[str, float] | None) -> str:
    return ", ".join(f"{SIGNS[key]} {value:g}" for key, value in (goal or {}).items())

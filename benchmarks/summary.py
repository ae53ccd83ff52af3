"""From raw samples to medians, ratios and verdicts: pure functions of plain JSON, for run.py and render.py.

A contender is named ``peer`` or ``peer:variant``; a peer counts with its variant of the smallest median.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

OURS = "ours"


@dataclass(frozen=True)
class Row:
    """One line of a table: ours beside one peer."""

    case: str
    unit: str
    ours: float
    peer: str
    theirs: float
    ratio: float
    goal: str
    reached: bool | None  # None: given for information, no goal


def spread(values: list[float]) -> dict[str, float]:
    """Median and quartiles."""
    if len(values) < 2:
        return {"median": values[0], "q1": values[0], "q3": values[0]}
    q1, _, q3 = quantiles(values, n=4, method="inclusive")
    return {"median": median(values), "q1": q1, "q3": q3}


def best(samples: dict[str, list[float]], peer: str) -> tuple[str, float]:
    """The variant of ``peer`` with the smallest median, and that median."""
    medians = {name: median(v) for name, v in samples.items() if name.split(":")[0] == peer}
    if not medians:
        raise KeyError(f"no samples of {peer!r}, only of {sorted(samples)}")
    name = min(medians, key=medians.__getitem__)
    return name.partition(":")[2], medians[name]


def rows(case: dict[str, Any]) -> list[Row]:
    """The lines of one case, computed from its raw samples."""
    samples = case["samples"][case["clock"]]
    return [_row(case, samples, comparison) for comparison in case["comparisons"]]


def _row(case: dict[str, Any], samples: dict[str, list[float]], comparison: dict[str, Any]) -> Row:
    _, ours = best(samples, OURS)
    variant, theirs = best(samples, comparison["peer"])
    ratio = theirs / ours if comparison["kind"] == "speedup" else ours / theirs
    goal = case["goals"].get(comparison["peer"])
    title = comparison["title"] + (f" ({variant})" if variant and comparison["show_variant"] else "")
    n_bytes = comparison["n_bytes"]
    unit = "GB/s" if n_bytes else case["unit"]
    shown = [n_bytes / t / 1e9 if n_bytes else t * case["scale"] for t in (ours, theirs)]
    reached = None if goal is None else _reached(ratio, goal) and case["answers"]["agree"] is not False
    return Row(case["name"], unit, shown[0], title, shown[1], ratio, _goal_text(goal), reached)


def _reached(ratio: float, goal: dict[str, float]) -> bool:
    return ratio >= goal.get("at_least", ratio) and ratio <= goal.get("at_most", ratio)


def _goal_text(goal: dict[str, float] | None) -> str:
    if goal is None:
        return ""
    signs = {"at_least": "≥", "at_most": "≤"}
    return ", ".join(f"{signs[key]} {value:g}" for key, value in goal.items())

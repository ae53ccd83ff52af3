"""Means and standard deviations of raw results by method and code length, for tables and figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .. import _ranking
from .._types import F64
from .store import Row

RECALLS = np.linspace(0, 1, 51)
"""Recall values at which precision-recall curves are averaged."""


@dataclass(frozen=True)
class Metric:
    """One number of a run, with its title and its digits in tables."""

    title: str
    value: Callable[[Row], float | None]
    digits: int = 3
    short: str = ""


def pooled_precision(row: Row, radius: int) -> float:
    """Precision within a radius, pooled over all pairs of a run; 0 if no pair lies within the radius."""
    found = sum(row["found"][: radius + 1])
    return float(sum(row["hits"][: radius + 1]) / found) if found else 0.0


def finds_nothing(row: Row, radius: int) -> float:
    """1 if no pair of a run lies within a radius, else 0."""
    return float(not any(row["found"][: radius + 1]))


def kept_with_noise(row: Row) -> float | None:
    """The average precision of queries with noise relative to that without; None for runs that did not measure it."""
    return row["noise"]["ap"] / row["ap"] if "noise" in row and row["ap"] else None


METRICS: dict[str, Metric] = {
    "ap": Metric("Average precision", lambda row: row["ap"], short="AP"),
    "ball2": Metric(
        "Precision within radius 2, mean over queries", lambda row: row["ball"]["2"]["zero"], short="P(R=2)"
    ),
    "ball3": Metric(
        "Precision within radius 3, mean over queries", lambda row: row["ball"]["3"]["zero"], short="P(R=3)"
    ),
    "at50": Metric("Precision of the 50 nearest", lambda row: row["precision_at"].get("50"), short="P@50"),
    "at100": Metric("Precision of the 100 nearest", lambda row: row["precision_at"].get("100"), short="P@100"),
    "map": Metric("Mean average precision (queries)", lambda row: row["map"], short="mAP"),
    "ndcg": Metric("NDCG of the 100 nearest", lambda row: row["ndcg"], short="NDCG"),
    "empty2": Metric("Queries with nothing within radius 2", lambda row: row["ball"]["2"]["empty"], short="empty R=2"),
    "empty3": Metric("Queries with nothing within radius 3", lambda row: row["ball"]["3"]["empty"], short="empty R=3"),
    "left2": Metric("Precision within radius 2, empty balls left out", lambda row: row["ball"]["2"]["leave_out"]),
    "left3": Metric("Precision within radius 3, empty balls left out", lambda row: row["ball"]["3"]["leave_out"]),
    "pooled2": Metric(
        "Precision within radius 2, all pairs pooled", lambda row: pooled_precision(row, 2), short="P(R=2)"
    ),
    "pooled3": Metric(
        "Precision within radius 3, all pairs pooled", lambda row: pooled_precision(row, 3), short="P(R=3)"
    ),
    "none2": Metric("Runs with nothing within radius 2 (fraction)", lambda row: finds_nothing(row, 2)),
    "none3": Metric("Runs with nothing within radius 3 (fraction)", lambda row: finds_nothing(row, 3)),
    "weighted": Metric("Average precision of the weighted distance", lambda row: row.get("weighted_ap")),
    "noise": Metric("Average precision of queries with noise", lambda row: row.get("noise", {}).get("ap")),
    "kept": Metric("Share of the average precision that is left with noise", kept_with_noise),
    "redundancy": Metric("Redundancy of a code's symbols", lambda row: row.get("redundancy")),
    "fit": Metric("Time to train (CPU seconds)", lambda row: row["fit_seconds"], 2, "train s"),
    "encode": Metric("Time to encode (CPU µs per vector)", lambda row: row["encode_us"], 2, "encode µs"),
}


@dataclass(frozen=True)
class Point:
    """A metric of one method at one code length: one value per run, by seed."""

    by_seed: dict[int, float]

    @property
    def mean(self) -> float:
        """The mean over the runs."""
        return float(np.mean([*self.by_seed.values()]))

    @property
    def std(self) -> float:
        """The standard deviation over the runs; 0 for a single one."""
        return float(np.std([*self.by_seed.values()], ddof=1)) if len(self.by_seed) > 1 else 0.0

    @property
    def n(self) -> int:
        """Number of runs."""
        return len(self.by_seed)

    def lead(self, other: Point) -> tuple[float, float]:
        """The mean difference to another method on the same splits, and its standard error."""
        seeds = self.by_seed.keys() & other.by_seed.keys()
        apart = np.array([self.by_seed[seed] - other.by_seed[seed] for seed in seeds])
        error = float(np.std(apart, ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else float("inf")
        return (float(apart.mean()) if len(apart) else 0.0), error


Curves = dict[str, dict[int, Point]]


def name_of(row: Row) -> str:
    """The name of a method in a report."""
    return f"{row['method']} (tuned)" if row.get("tuned_for") else str(row["method"])


def at_length(row: Row, axis: str, lengths: Iterable[int]) -> int | None:
    """The code length under which a run is listed on an axis; None if it is not listed.

    On the axis of bits, a code is listed under the length that leaves less than one symbol unused.
    """
    tuned_for = row.get("tuned_for")
    if tuned_for is not None:
        return int(row["length"]) if tuned_for == axis and row["length"] in lengths else None
    if axis == "symbols":
        return int(row["n_symbols"]) if row["n_symbols"] in lengths else None
    per_symbol = row["bits"] // row["n_symbols"]
    return next((length for length in lengths if 0 <= length - row["bits"] < per_symbol), None)


def select(rows: Iterable[Row], axis: str, lengths: Iterable[int]) -> dict[str, dict[int, list[Row]]]:
    """The runs by method and length on an axis."""
    lengths, chosen = sorted(lengths), defaultdict[str, dict[int, list[Row]]](lambda: defaultdict(list))
    for row in rows:
        length = at_length(row, axis, lengths)
        if length is not None:
            chosen[name_of(row)][length].append(row)
    return {name: dict(sorted(by_length.items())) for name, by_length in chosen.items()}


def curves(rows: Iterable[Row], axis: str, lengths: Iterable[int], metric: str) -> Curves:
    """A metric over the code length, by method.

    >>> row = {"method": "LSH", "n_symbols": 8, "bits": 8, "seed": 1, "ap": 0.5}
    >>> curves([row], "bits", [8, 16], "ap")["LSH"][8].mean
    0.5
    """
    value, found = METRICS[metric].value, {}
    for name, by_length in select(rows, axis, lengths).items():
        points = {}
        for length, group in by_length.items():
            values = {row["seed"]: value(row) for row in group}
            known = {seed: number for seed, number in values.items() if number is not None}
            if known:
                points[length] = Point(known)
        if points:
            found[name] = points
    return found


def precision_at_recalls(row: Row) -> F64:
    """The precision of a run at `RECALLS`, interpolated linearly between the radii."""
    precision, recall = _ranking.curve(np.array(row["found"]), np.array(row["hits"]))
    return np.interp(RECALLS, recall, precision)


def recall_curves(rows: Iterable[Row], axis: str, length: int) -> dict[str, tuple[F64, F64]]:
    """Mean and standard deviation of the precision at `RECALLS` over the runs, by method."""
    chosen = select(rows, axis, [length])
    found = {}
    for name, by_length in chosen.items():
        values = np.array([precision_at_recalls(row) for row in by_length.get(length, [])])
        if len(values):
            spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros_like(RECALLS)
            found[name] = values.mean(axis=0), spread
    return found


def courses(rows: Iterable[Row], length: int, key: str) -> dict[str, tuple[list[int], F64, F64]]:
    """Training steps, and mean and standard deviation of one series at these steps, by method.

    Only codes of ``length`` bits count. Runs whose recorded steps differ from those of the last run are left out.
    """
    found = {}
    for name, by_length in select((row for row in rows if row.get("course")), "bits", [length]).items():
        kept = [row["course"] for row in by_length.get(length, [])]
        steps = kept[-1]["step"] if kept else []
        values = np.array([course[key] for course in kept if course["step"] == steps])
        if len(values):
            spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(len(steps))
            found[name] = steps, values.mean(axis=0), spread
    return found

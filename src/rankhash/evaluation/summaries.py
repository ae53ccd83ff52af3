"""From raw results to means and standard deviations, by method and code length: what tables and figures are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _ranking
from .store import Row

F64 = NDArray[np.float64]

RECALLS = np.linspace(0, 1, 51)
"""Where curves of precision over recall are compared."""


@dataclass(frozen=True)
class Metric:
    """One number of a run."""

    title: str
    value: Callable[[Row], float | None]
    digits: int = 3
    short: str = ""


def pooled_precision(row: Row, radius: int) -> float | None:
    """The precision of all pairs of a run within a radius, whatever their query; None if there is none."""
    found = sum(row["found"][: radius + 1])
    return sum(row["hits"][: radius + 1]) / found if found else None


METRICS: dict[str, Metric] = {
    "ap": Metric("Average precision", lambda row: row["ap"], short="AP"),
    "ball2": Metric("Precision within radius 2", lambda row: row["ball"]["2"]["zero"], short="P(R=2)"),
    "ball3": Metric("Precision within radius 3", lambda row: row["ball"]["3"]["zero"], short="P(R=3)"),
    "at50": Metric("Precision of the 50 nearest", lambda row: row["precision_at"].get("50"), short="P@50"),
    "at100": Metric("Precision of the 100 nearest", lambda row: row["precision_at"].get("100"), short="P@100"),
    "map": Metric("Mean average precision (queries)", lambda row: row["map"], short="mAP"),
    "ndcg": Metric("NDCG of the 100 nearest", lambda row: row["ndcg"], short="NDCG"),
    "empty2": Metric("Queries with nothing within radius 2", lambda row: row["ball"]["2"]["empty"], short="empty R=2"),
    "empty3": Metric("Queries with nothing within radius 3", lambda row: row["ball"]["3"]["empty"], short="empty R=3"),
    "left2": Metric("Precision within radius 2, empty balls left out", lambda row: row["ball"]["2"]["leave_out"]),
    "left3": Metric("Precision within radius 3, empty balls left out", lambda row: row["ball"]["3"]["leave_out"]),
    "pooled2": Metric("Precision within radius 2, all pairs pooled", lambda row: pooled_precision(row, 2)),
    "pooled3": Metric("Precision within radius 3, all pairs pooled", lambda row: pooled_precision(row, 3)),
    "fit": Metric("Time to train (CPU seconds)", lambda row: row["fit_seconds"], 2, "train s"),
    "encode": Metric("Time to encode (CPU µs a vector)", lambda row: row["encode_us"], 2, "encode µs"),
}


@dataclass(frozen=True)
class Point:
    """A metric of one method at one length, over the runs: values by seed."""

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
        """Runs."""
        return len(self.by_seed)

    def lead(self, other: Point) -> tuple[float, float]:
        """The mean difference to another method on the same splits, and its standard error."""
        seeds = self.by_seed.keys() & other.by_seed.keys()
        apart = np.array([self.by_seed[seed] - other.by_seed[seed] for seed in seeds])
        error = float(np.std(apart, ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else float("inf")
        return (float(apart.mean()) if len(apart) else 0.0), error


Curves = dict[str, dict[int, Point]]


def name_of(row: Row) -> str:
    """What a method is called in a report."""
    return f"{row['method']} (tuned)" if row.get("tuned_for") else str(row["method"])


def at_length(row: Row, axis: str, lengths: Iterable[int]) -> int | None:
    """The length at which a run stands on an axis; None if it does not.

    At equal bits a code stands at the length that it fills up to less than one symbol.
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
    """The precision of a run at :data:`RECALLS`, by straight lines between the radii."""
    precision, recall = _ranking.curve(np.array(row["found"]), np.array(row["hits"]))
    return np.interp(RECALLS, recall, precision)


def recall_curves(rows: Iterable[Row], axis: str, length: int) -> dict[str, tuple[F64, F64]]:
    """Mean and standard deviation over the runs of the precision at :data:`RECALLS`, by method."""
    chosen = select(rows, axis, [length])
    found = {}
    for name, by_length in chosen.items():
        values = np.array([precision_at_recalls(row) for row in by_length.get(length, [])])
        if len(values):
            spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros_like(RECALLS)
            found[name] = values.mean(axis=0), spread
    return found


def courses(rows: Iterable[Row], length: int, key: str) -> dict[str, tuple[list[int], F64, F64]]:
    """Steps of learning, and mean and standard deviation of a number at them, by method at so many bits.

    Runs that noted other steps than the last one are left out.
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

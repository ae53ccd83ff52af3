"""What claims are tested on: the results of one data set on one axis, and the methods that a column stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rankhash.evaluation.store import Row
from rankhash.evaluation.summaries import (
    RECALLS,
    Curves,
    Point,
    at_length,
    curves,
    name_of,
    precision_at_recalls,
)

NUMERIC = ("MLH", "SpectralHashing", "LSH")
"""The paper's methods that compare values with thresholds; WTA, RSH and SRSH rank."""

SHORT, MIDDLE = 8, 32
SIGMAS = 2.0
"""A lead counts if it exceeds this many standard errors of the paired differences."""

MIN_RUNS = 2
"""Splits without which nothing is judged."""

TIE = 0.001
"""Means that differ by less are equal."""

Answer = tuple[bool, str]


class NotMeasuredError(Exception):
    """The runs that a claim is about are missing."""


@dataclass(frozen=True)
class Column:
    """What a column of the verdict runs: its title, the names of RSH and SRSH in results, and a line about them.

    ``mlh`` is the name of MLH, default MLH, which also stands in where runs under another name are missing.
    """

    title: str
    rsh: str
    srsh: str
    runs: str
    mlh: str = "MLH"


@dataclass
class Case:
    """One data set on one axis, with the methods that stand for the paper's; only splits that SRSH was run on."""

    rows: Sequence[Row]
    axis: str
    lengths: tuple[int, ...]
    column: Column
    _known: dict[str, Curves] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seeds = {row["seed"] for row in self.rows if name_of(row) == self.column.srsh}
        self.rows = [row for row in self.rows if row["seed"] in seeds]

    @property
    def rsh(self) -> str:
        """The name of RSH in results."""
        return self.column.rsh

    @property
    def srsh(self) -> str:
        """The name of SRSH in results."""
        return self.column.srsh

    @property
    def rivals(self) -> tuple[str, ...]:
        """The five methods that the paper compares SRSH with."""
        return (self.rsh, "WTA", *self.numeric)

    @property
    def mlh(self) -> str:
        """The name of MLH in results."""
        return next(iter(self.measured("ap", [self.column.mlh])), "MLH")

    @property
    def numeric(self) -> tuple[str, ...]:
        """The names in results of the methods that compare values with thresholds."""
        return tuple(self.mlh if name == "MLH" else name for name in NUMERIC)

    def points(self, key: str, name: str) -> dict[int, Point]:
        """The points of a metric of one method, at all lengths."""
        if key not in self._known:
            self._known[key] = curves(self.rows, self.axis, self.lengths, key)
        found = self._known[key].get(name, {})
        if any(length not in found or found[length].n < MIN_RUNS for length in self.lengths):
            raise NotMeasuredError(f"{name} was measured on fewer than {MIN_RUNS} splits ({key})")
        return found

    def measured(self, key: str, names: Iterable[str]) -> list[str]:
        """Those methods that have a metric at all lengths."""
        found = []
        for name in names:
            try:
                self.points(key, name)
            except NotMeasuredError:
                continue
            found.append(name)
        return found

    def mean(self, key: str, names: Iterable[str], length: int) -> float:
        """The mean of a metric over methods."""
        return float(np.mean([self.points(key, name)[length].mean for name in names]))

    def leads(self, key: str, name: str, other: str, length: int) -> bool:
        """Whether a method leads another by more than chance."""
        lead, error = self.points(key, name)[length].lead(self.points(key, other)[length])
        return lead > SIGMAS * error and lead > TIE

    def ahead(self, key: str, name: str, others: Iterable[str], lengths: Iterable[int] | None = None) -> list[bool]:
        """At each length, whether a method leads all the others by more than chance."""
        chosen, rivals = self.lengths if lengths is None else lengths, [*others]
        return [all(self.leads(key, name, other, length) for other in rivals) for length in chosen]

    def unbeaten(self, key: str, name: str, others: Iterable[str]) -> list[bool]:
        """At each length, whether none of the others leads a method by more than chance."""
        rivals = [*others]
        return [not any(self.leads(key, other, name, length) for other in rivals) for length in self.lengths]

    def row(self, key: str, *names: str, lengths: Iterable[int] | None = None) -> str:
        """The means of some methods, for the page."""
        chosen = [*(self.lengths if lengths is None else lengths)]
        parts = (
            f"{name} {' '.join(f'{self.points(key, name)[length].mean:.3f}'.lstrip('0') for length in chosen)}"
            for name in names
        )
        return f"{'/'.join(map(str, chosen))} {self.axis}: " + "; ".join(parts)

    def recall_points(self, name: str, length: int) -> list[Point]:
        """The precision of a method at each of `RECALLS`."""
        runs = [row for row in self.rows if name_of(row) == name and at_length(row, self.axis, self.lengths) == length]
        if not runs:
            raise NotMeasuredError(f"{name} has no runs at {length}")
        values = {row["seed"]: precision_at_recalls(row) for row in runs}
        return [Point({seed: float(value[at]) for seed, value in values.items()}) for at in range(len(RECALLS))]


@dataclass(frozen=True)
class Claim:
    """What the paper says, in our words, where it says so, what must be true for it to hold, and the test.

    ``tuned`` marks a claim that depends on the constants, which the paper chooses by cross-validation; default False.
    """

    says: str
    where: str
    rule: str
    test: Callable[[Case], Answer]
    tuned: bool = False


def verdict_of(claim: Claim, rows: Sequence[Row], lengths: tuple[int, ...], column: Column) -> tuple[str, list[str]]:
    """The verdict on a claim for one data set, and the numbers by axis."""
    try:
        answers = [claim.test(Case(rows, axis, lengths, column)) for axis in ("symbols", "bits")]
    except NotMeasuredError as missing:
        return "not measured", [str(missing)]
    verdicts = {
        (True, True): "holds",
        (True, False): "holds only on the symbols axis",
        (False, True): "holds only at equal bits",
        (False, False): "does not hold",
    }
    return verdicts[answers[0][0], answers[1][0]], [text for _, text in answers]

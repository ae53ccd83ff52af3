"""Benchmarks that compare rankhash with peers, case by case: what is run, what came out, what was hoped for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.results import Facts, Row
from harness.running import Run
from harness.timing import Samples

Goal = dict[str, float]


def at_least(ratio: float) -> Goal:
    """The ratio shall not be smaller."""
    return {"at_least": ratio}


def at_most(ratio: float) -> Goal:
    """The ratio shall not be larger."""
    return {"at_most": ratio}


@dataclass(frozen=True)
class Case:
    """What to run, and the goal of the ratio to each peer."""

    name: str
    params: Facts
    goals: dict[str, Goal] = field(default_factory=dict)


def case(name: str, goals: dict[str, Goal] | None = None, **params: Any) -> Case:
    """A case whose parameters are given by name."""
    return Case(name, params, goals or {})


@dataclass(frozen=True)
class Comparison:
    """One peer: ``speedup`` is the peer's time over ours, ``cost`` is ours over the peer's."""

    peer: str
    title: str
    kind: str = "speedup"
    n_bytes: int = 0  # above 0: both are shown as GB/s over this many bytes
    show_variant: bool = True


@dataclass
class Outcome:
    """What was measured for one case, before any arithmetic."""

    unit: str  # of the numbers shown
    scale: float  # from a sample to that unit
    clock: str  # the clock whose samples count
    samples: Samples
    comparisons: list[Comparison]
    agree: bool | None  # None: there is no answer to compare
    checked: str  # how the answers were compared
    extra: Facts = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """The cases of one benchmark: ``defaults`` hold unless a case says otherwise, ``quick`` replaces both."""

    defaults: Facts
    quick: Facts
    cases: tuple[Case, ...]

    def rows(self, run: Run, measure: Callable[[Case], Outcome]) -> Iterator[Row]:
        """One row per wanted case. Quick cases have no goals, since they measure nothing."""
        by_name = {one.name: one for one in self.cases}
        for key in run.wanted({"case": name} for name in by_name):
            one = by_name[key["case"]]
            params = self.defaults | one.params | (self.quick if run.quick else {})
            goals = {} if run.quick else one.goals
            outcome = measure(Case(one.name, params, goals))
            yield Row(key, {"params": params, "goals": goals} | asdict(outcome))

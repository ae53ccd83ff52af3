"""What goes into a group's ``run`` (:class:`Case`), what comes out (:class:`Outcome`), and the case files."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from measure import Samples
from summary import spread

CONFIGS = Path(__file__).parent / "configs"
SIGNS = {"at_least", "at_most"}


@dataclass(frozen=True)
class Case:
    """One line of a case file: what to run, and what is hoped for."""

    name: str
    params: dict[str, Any]
    goals: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Comparison:
    """Ours beside one peer: ``speedup`` is their time over ours, ``cost`` is ours over theirs."""

    peer: str
    title: str
    kind: str = "speedup"
    n_bytes: int = 0  # show both as GB/s over so many bytes
    show_variant: bool = True


@dataclass
class Outcome:
    """What a group measured for one case, before any arithmetic."""

    unit: str  # of the numbers shown
    scale: float  # from a sample to that unit
    clock: str  # the clock whose samples count
    samples: Samples
    comparisons: list[Comparison]
    agree: bool | None  # None: there is no answer to compare
    checked: str  # how the answers were compared
    extra: dict[str, Any] = field(default_factory=dict)

    def as_json(self, case: Case) -> dict[str, Any]:
        """The record of ``case`` in the results file."""
        return {
            "name": case.name,
            "params": case.params,
            "goals": case.goals,
            "unit": self.unit,
            "scale": self.scale,
            "clock": self.clock,
            "answers": {"agree": self.agree, "checked": self.checked},
            "comparisons": [asdict(comparison) for comparison in self.comparisons],
            "summary": {name: spread(values) for name, values in self.samples[self.clock].items()},
            "samples": self.samples,
            "extra": self.extra,
        }


def group_names() -> list[str]:
    """Every group that has a case file."""
    return sorted(path.stem for path in CONFIGS.glob("*.json"))


def load_cases(group: str, *, quick: bool, only: str = "") -> tuple[str, list[Case]]:
    """Title and cases of a group; ``only`` keeps those whose name contains it.

    ``quick`` shrinks them until they measure nothing, so it also takes their goals away.
    """
    config = json.loads((CONFIGS / f"{group}.json").read_text(encoding="utf-8"))
    cases = [_case(entry, config["defaults"]) for entry in config["cases"] if only in entry["name"]]
    if quick:
        cases = [Case(case.name, {**case.params, **config["quick"]}, {}) for case in cases]
    return config["title"], cases


def _case(entry: dict[str, Any], defaults: dict[str, Any]) -> Case:
    entry = dict(entry)
    name, goals = entry.pop("name"), entry.pop("goals", {})
    if any(set(goal) - SIGNS for goal in goals.values()):
        raise ValueError(f"the goals of {name!r} may only say {sorted(SIGNS)}, got {goals}")
    return Case(name, {**defaults, **entry}, goals)

"""The page that says which claims of the paper hold: Markdown, made from raw results only."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .claims import CLAIMS, NUMERIC, SIGMAS, verdict_of
from .store import Row
from .summaries import METRICS, curves
from .tables import markdown_table, names_of

LENGTHS = (8, 12, 16, 24, 32, 48, 64)
LEARNERS = ("SRSH bound", "SRSH")
"""SRSH with the paper's own update, and with the one that the library prefers."""

NEEDED = ("WTA", "RSH", *LEARNERS, *NUMERIC)

MIN_RUNS = 3
"""Runs of every method at every length that a verdict takes at least."""

TITLE = """# Do the paper's claims hold?

<!-- Made by benchmarks/verdict.py from benchmarks/results/reproduce; change those, not this page. -->
"""

UNDECIDED = """Not judged yet: every method needs at least {runs} runs at every length
(`rankhash reproduce mnist cifar10-gist --results benchmarks/results/reproduce`). These claims of K. Li, G. Qi, J. Ye
and K. A. Hua, *Rank Subspace Learning for Compact Hash Codes* (2015), in our words, will be judged:
"""

HEAD = """K. Li, G. Qi, J. Ye and K. A. Hua, *Rank Subspace Learning for Compact Hash Codes* (2015) compares RSH and
SRSH with MLH, spectral hashing, LSH and WTA. Each of its claims stands here in our words, with the rule by which we
judge it and with what was measured.

- **Protocol**: the paper's. {sizes}
- **Sets**: MNIST is one of the paper's (its digits have 28 × 28 pixels here, 24 × 24 there). LabelMe and Peekaboom were
  not at hand; Gist descriptors of CIFAR-10 stand in for them, so claims about all sets are tested on these two.
- **Two axes**: the paper counts symbols. A symbol of RSH, SRSH and WTA is one of K = 4 values and takes two bits, one
  of the others takes one; so the same claims are tested again with codes of equally many bits.
- **Parameters**: the library's defaults at every length; the paper chooses K, ρ and λ by cross-validation at each
  (`rankhash reproduce --tune` does that). WTA runs with degree 1: with the paper's degree 4 its codes of centred
  vectors are near noise (see the tables), which would make every claim about WTA easy.
- **SRSH** is judged twice: with the paper's own update (`update="bound"`), and with the library's default.
- **"Leads"** means that the mean of the paired differences over the runs is more than {sigmas:g} standard errors
  above 0.
"""

TABLES = """## All methods of the library

Average precision, mean ± standard deviation; the best mean is bold. For every other metric and the figures:
`rankhash reproduce mnist cifar10-gist --report-only --results benchmarks/results/reproduce`.
"""


def verdict_page(rows_by_set: dict[str, list[Row]]) -> str:
    """The page; without a verdict, but with what is missing, as long as there are too few runs to judge by."""
    missing = [line for name, rows in rows_by_set.items() for line in _missing(name, rows)]
    if missing:
        lines = [f"{number}. {claim.says} Holds if {claim.rule}." for number, claim in enumerate(CLAIMS, 1)]
        listed = [f"- {line}" for line in missing]
        return "\n".join([TITLE, UNDECIDED.format(runs=MIN_RUNS), *lines, "", "Missing:", "", *listed, ""])
    head = HEAD.format(sizes=_sizes(rows_by_set), sigmas=SIGMAS)
    parts = [TITLE, head, _summary(rows_by_set), _details(rows_by_set), _tables(rows_by_set), _origin(rows_by_set)]
    return "\n".join(parts)


def _missing(name: str, rows: list[Row]) -> list[str]:
    """What a set lacks: methods with fewer than three runs at some length."""
    few: dict[str, set[int]] = {}
    for axis in ("symbols", "bits"):
        found = curves(rows, axis, LENGTHS, "ap")
        for method in NEEDED:
            points = found.get(method, {})
            lengths = {length for length in LENGTHS if length not in points or points[length].n < MIN_RUNS}
            few.setdefault(method, set()).update(lengths)
    lacking = (
        method if lengths == {*LENGTHS} else f"{method} ({', '.join(map(str, sorted(lengths)))})"
        for method, lengths in few.items()
        if lengths
    )
    words = ", ".join(lacking)
    return [f"{name}: {words}"] if words else []


def _sizes(rows_by_set: dict[str, list[Row]]) -> str:
    row = next(iter(rows_by_set.values()))[0]
    settings = row["settings"]
    runs = min(len({row["seed"] for row in rows}) for rows in rows_by_set.values())
    return (
        f"{settings['n_train']} random vectors to learn from, which are also the database, {row['n_queries']} queries, "
        f"{settings['n_components']} principal components, {runs} random splits."
    )


def _summary(rows_by_set: dict[str, list[Row]]) -> str:
    sets = [*rows_by_set]
    heads = [f"{name}, {learner}" for name in sets for learner in ("paper's SRSH", "default SRSH")]
    lines = ["## The verdict", "", "| | claim | " + " | ".join(heads) + " |", "|--:|---|" + "---|" * len(heads)]
    for number, claim in enumerate(CLAIMS, 1):
        cells = [verdict_of(claim, rows_by_set[name], LENGTHS, learner)[0] for name in sets for learner in LEARNERS]
        lines.append(f"| {number} | {claim.says} | " + " | ".join(_marked(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _marked(verdict: str) -> str:
    return verdict if verdict == "holds" else f"**{verdict}**"


def _details(rows_by_set: dict[str, list[Row]]) -> str:
    lines = ["## The numbers", "", "Means over the runs; SRSH with the paper's own update.", ""]
    for number, claim in enumerate(CLAIMS, 1):
        lines += [f"**{number}. {claim.says}** ({claim.where}; holds if {claim.rule})", ""]
        for name, rows in rows_by_set.items():
            verdict, numbers = verdict_of(claim, rows, LENGTHS, LEARNERS[0])
            lines.append(f"- {name}: {_marked(verdict)}")
            lines += [f"  - {text}" for text in numbers.values()]
        lines.append("")
    return "\n".join(lines)


def _tables(rows_by_set: dict[str, list[Row]]) -> str:
    lines = [TABLES]
    for name, rows in rows_by_set.items():
        for axis in ("bits", "symbols"):
            table = markdown_table(curves(rows, axis, LENGTHS, "ap"), METRICS["ap"], names_of(rows), LENGTHS, axis)
            lines += [f"### {name}, equal {axis}", "", table, ""]
    return "\n".join(lines)


def _origin(rows_by_set: dict[str, list[Row]]) -> str:
    rows: Sequence[Row] = [row for part in rows_by_set.values() for row in part]
    seeds = sorted({row["seed"] for row in rows})
    found = sorted({json.dumps(row["origin"], sort_keys=True) for row in rows})
    lines = []
    for text in found:
        facts = json.loads(text)
        commit = f", commit {facts['commit']}" if facts["commit"] else ""
        lines.append(f"{facts['cpu']}, {facts['cores']} cores, {facts['isa']}, one thread{commit}, {facts['date']}")
    return f"_{len(rows)} runs, seeds {seeds[0]} to {seeds[-1]}. {'; '.join(lines)}._\n"

"""The page that says which claims of the paper hold: Markdown, made from raw results only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from drawing.cases import NUMERIC, SIGMAS, TIE, Column, verdict_of
from drawing.claims import CLAIMS
from drawing.columns import COLUMNS, PRINTED, SAMPLING, TUNED
from drawing.markdown import SETS
from rankhash.evaluation import Protocol
from rankhash.evaluation.store import Row, Store
from rankhash.evaluation.summaries import METRICS, curves, name_of
from rankhash.evaluation.tables import markdown_table, names_of

LENGTHS = (8, 12, 16, 24, 32, 48, 64)
NEEDED = ("WTA", "RSH", "SRSH", *NUMERIC)

MIN_RUNS = 3
"""Runs of every method at every length that a verdict takes at least."""

TITLE = """# Do the paper's claims hold?

<!-- Made by benchmarks/render.py from benchmarks/results/reproduce; change those, not this page. -->
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
- **Two axes**: the paper counts symbols. A symbol of RSH, SRSH and WTA is one of K values, 4 unless tuned, which takes
  two bits; one of the others takes one. So the same claims are tested again with codes of equally many bits.
- **Columns**: what stands for RSH and SRSH; spectral hashing, LSH and WTA are the same in all of them.
{columns}
- **Judged** is the verdict of the column that decides: *sampling, tuned* for claims {tuned}, which depend on K and ρ,
  and *as printed* for the others. Where the other reading of α gives these another verdict, it stands below the table.
- **MLH** chooses ρ and λ on held-out training vectors at every length in all columns. Its ε follows from the length; in
  the tuned column it is chosen, too ({mlh}).
  WTA runs with degree 1: with the paper's degree 4 its codes of centred vectors are near noise (see the tables), which
  would make every claim about WTA easy. Distances are unweighted; the weighted distance of SRSH stands beside claim 5
  and in [methods compared](guide/methods.md).
- **Look-ups** are judged by the precision over all pairs of a run within the radius, as the evaluation of MLH computes
  it, which the paper follows; a run that finds nothing counts 0. The number beside it is by queries: the mean of each
  query's precision, where one that finds nothing counts 0.
- **"Leads"** means that the mean of the paired differences over the splits is more than {sigmas:g} standard errors
  and more than {tie} above 0: less is a tie, and so are means or standard deviations that differ by {tie} or less.
  Claims 13 and 16 were given this allowance after first results, since look-ups of many long codes have a precision
  of 1; the rank correlation of the bare means stands beside claim 16. A claim holds "on the sets measured".
- **Splits** are the same for all methods: a seed gives the same vectors, along principal axes with fixed
  signs.
{fewer}"""

FEWER = """- **Fewer splits**: {methods}.
"""

MARKS = {
    "holds": "holds",
    "holds only on the symbols axis": "**symbols**",
    "holds only at equal bits": "**bits**",
    "does not hold": "**no**",
    "not measured": "–",
}
"""Verdicts in the cells of the columns."""

DIFFERING = """By the other reading of α, sampling, the verdict would be: {claims}.
"""

LEGEND = """*symbols* and *bits*: the claim holds on that axis only; *no*: on neither.
"""

TABLES = """## All methods of the library

Average precision, mean ± standard deviation; the best mean is bold. For every other metric and the figures:
`rankhash reproduce mnist cifar10-gist --report-only --results benchmarks/results/reproduce`.
"""


def read_verdict(folder: Path) -> str:
    """The page of the runs in a folder that have the paper's settings."""
    store, settings = Store(folder), Protocol().settings()
    return verdict_page({name: [row for row in store.rows(name) if row["settings"] == settings] for name in SETS})


def verdict_page(rows_by_set: dict[str, list[Row]]) -> str:
    """The page; without a verdict, but with what is missing, as long as there are too few runs to judge by."""
    missing = [line for name, rows in rows_by_set.items() for line in _missing(name, rows)]
    if missing:
        lines = [f"{number}. {claim.says} Holds if {claim.rule}." for number, claim in enumerate(CLAIMS, 1)]
        listed = [f"- {line}" for line in missing]
        return "\n".join([TITLE, UNDECIDED.format(runs=MIN_RUNS), *lines, "", "Missing:", "", *listed, ""])
    head = HEAD.format(
        sizes=_sizes(rows_by_set),
        columns=_columns(rows_by_set),
        tuned=", ".join(str(number) for number, claim in enumerate(CLAIMS, 1) if claim.tuned),
        mlh=_mlh_runs(rows_by_set),
        sigmas=SIGMAS,
        tie=TIE,
        fewer=_fewer(rows_by_set),
    )
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


def _runs(rows: list[Row], column: Column) -> int:
    """The number of splits that RSH and SRSH of a column were both run on, at every length of both axes."""
    seeds = []
    for axis in ("symbols", "bits"):
        found = curves(rows, axis, LENGTHS, "ap")
        for name in (column.rsh, column.srsh):
            points = found.get(name, {})
            seeds += [set(points[length].by_seed) if length in points else set() for length in LENGTHS]
    return len(set.intersection(*seeds))


def _judged(rows_by_set: dict[str, list[Row]]) -> list[tuple[str, Column]]:
    """The sets and columns with two splits or more."""
    return [(name, column) for name, rows in rows_by_set.items() for column in COLUMNS if _runs(rows, column) >= 2]


def _columns(rows_by_set: dict[str, list[Row]]) -> str:
    lines = []
    for column in COLUMNS:
        runs = [_runs(rows, column) for rows in rows_by_set.values()]
        splits = ", ".join(f"{name} {n}" for name, n in zip(rows_by_set, runs, strict=True))
        judged = "splits" if min(runs) >= 2 else "judged only with two splits or more; splits"
        lines.append(f"    - *{column.title}*: {column.runs} ({judged}: {splits}).")
    return "\n".join(lines)


def _mlh_runs(rows_by_set: dict[str, list[Row]]) -> str:
    """The number of splits of tuned MLH on each set."""
    name = TUNED.mlh
    seeds = {one: {row["seed"] for row in rows if name_of(row) == name} for one, rows in rows_by_set.items()}
    return "splits: " + ", ".join(f"{one} {len(found)}" for one, found in seeds.items())


def _fewer(rows_by_set: dict[str, list[Row]]) -> str:
    """The methods that were run on fewer splits than others, with their number."""
    seeds: dict[str, dict[str, set[int]]] = {}
    for name, rows in rows_by_set.items():
        for row in rows:
            seeds.setdefault(name_of(row), {}).setdefault(name, set()).add(row["seed"])
    runs = {method: max(map(len, found.values())) for method, found in seeds.items()}
    listed = [f"{method} {n}" for method, n in sorted(runs.items()) if n < max(runs.values())]
    return FEWER.format(methods=", ".join(listed)) if listed else ""


def _summary(rows_by_set: dict[str, list[Row]]) -> str:
    judged = _judged(rows_by_set)
    heads = [f"{name}, {column.title}" for name, column in judged]
    lines = [
        "## The verdict",
        "",
        LEGEND,
        "| | claim | " + " | ".join(["judged", *heads]) + " |",
        "|--:|---|" + "---|" * (len(heads) + 1),
    ]
    differing: list[str] = []
    for number, claim in enumerate(CLAIMS, 1):
        found = {
            (name, column.title): verdict_of(claim, rows_by_set[name], LENGTHS, column)[0] for name, column in judged
        }
        decision = _decision(found, [*rows_by_set], TUNED if claim.tuned else PRINTED)
        other = decision if claim.tuned else _decision(found, [*rows_by_set], SAMPLING)
        cells = [decision, *(MARKS[verdict] for verdict in found.values())]
        lines.append(f"| {number} | {claim.says} | " + " | ".join(cells) + " |")
        if other != decision:
            differing.append(f"claim {number}: {other}")
    lines += ["", DIFFERING.format(claims=". ".join(differing))] if differing else []
    return "\n".join(lines) + "\n"


def _decision(found: dict[tuple[str, str], str], sets: list[str], column: Column) -> str:
    """The verdict of a column, for all sets at once if they agree."""
    verdicts = {name: _marked(found.get((name, column.title), "not measured")) for name in sets}
    if len({*verdicts.values()}) == 1:
        return verdicts[sets[0]]
    return "; ".join(f"{name}: {verdict}" for name, verdict in verdicts.items())


def _marked(verdict: str) -> str:
    return verdict if verdict in ("holds", "not measured") else f"**{verdict}**"


def _details(rows_by_set: dict[str, list[Row]]) -> str:
    judged = _judged(rows_by_set)
    lines = ["## The numbers", "", "Means over the splits of a column; first at equal symbols, then at equal bits.", ""]
    for number, claim in enumerate(CLAIMS, 1):
        lines += [f"**{number}. {claim.says}** ({claim.where}; holds if {claim.rule})", ""]
        alike: dict[tuple[str, ...], list[str]] = {}
        for name, column in judged:
            verdict, numbers = verdict_of(claim, rows_by_set[name], LENGTHS, column)
            alike.setdefault((name, _marked(verdict), *numbers), []).append(column.title)
        for (name, verdict, *numbers), titles in alike.items():
            lines.append(f"- {name}, *{'*, *'.join(titles)}*: {verdict}")
            lines += [f"    - {text}" for text in numbers]
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

"""What all tables share: lines of Markdown, and the line that says where the numbers are from."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import mean, stdev
from typing import Any

from harness.results import Facts, Row

SETS = {"mnist": "MNIST", "cifar10-gist": "CIFAR-10 Gist"}
NOT_MEASURED = "_Not measured yet._\n"
QUICK = "**Quick run on small data: not a measurement.** "
LIBRARIES = {
    "faiss-cpu": "FAISS",
    "numpy": "NumPy",
    "dask": "Dask",
    "hnswlib": "hnswlib",
    "scann": "ScaNN",
    "usearch": "USearch",
}


def heading(title: str, columns: Iterable[Any]) -> list[str]:
    """The first two lines of a table; all columns but the first are aligned to the right."""
    names = [str(column) for column in columns]
    return [line(title, names), line("---", ("--:" for _ in names))]


def line(label: str, cells: Iterable[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join([label, *cells]) + " |"


def spread(values: list[float]) -> str:
    """Mean ± standard deviation."""
    if not values:
        return "–"
    return f"{mean(values):.3f} ± {stdev(values):.3f}" if len(values) > 1 else f"{values[0]:.3f}"


def yes_or_no(reached: bool, row: Row) -> str:
    """Whether a goal was reached; wrong answers reach none."""
    if row.get("agree") is False:
        return "**answers differ**"
    return "yes" if reached else "**no**"


def with_origin(lines: Iterable[str], rows: Iterable[Row], *more: str, libraries: Iterable[str] = ()) -> str:
    """The lines, then machine, commits, versions of ``libraries`` (none), date, load, and notes on the rows."""
    origins = _distinct(row.origin for row in rows)
    facts = next((one for one in reversed(origins) if "cpu" in one), {})
    parts = [
        f"{facts['cpu']}, {facts['cores']} cores, {facts['isa']}",
        _commits(origins),
        ", ".join(f"{LIBRARIES[name]} {facts['versions'][name]}" for name in libraries),
        facts["date"][:10],
        *more,
        _load(facts),
    ]
    warning = QUICK if facts["quick"] else ""
    notes = [f" Note: {note}." for note in dict.fromkeys(one["note"] for one in origins if "note" in one)]
    return "\n".join([*lines, "", f"{warning}_{'; '.join(filter(None, parts))}._{''.join(notes)}"]) + "\n"


def _distinct(origins: Iterable[Facts]) -> list[Facts]:
    found: list[Facts] = []
    for origin in origins:
        if origin not in found:
            found.append(origin)
    return found


def _commits(origins: list[Facts]) -> str:
    """Ten digits of each commit; + stands for uncommitted changes."""
    commits = sorted({one["commit"] for one in origins})
    shown = [f"{commit[:10]}{' with uncommitted changes' if commit.endswith('+') else ''}" for commit in commits]
    return f"commit {', '.join(shown)}"


def _load(facts: Facts) -> str:
    """The load average of the last minute, as far as it is known."""
    when = {"before": facts.get("load_before"), "after": facts.get("load_after")}
    known = [f"{load[0]:.1f} {name}" for name, load in when.items() if load]
    return f"load {', '.join(known)}" if known else ""

"""What the modules that draw tables share: rows of Markdown, and reading what was kept. Needs nothing but Python."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

SETS = {"mnist": "MNIST", "cifar10-gist": "CIFAR-10 Gist"}
NOT_MEASURED = "_Not measured yet._\n"


def load(folder: Path, name: str) -> Any:
    """The kept results of a script, or None."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def runs(folder: Path, name: str, method: str) -> list[dict[str, Any]]:
    """What ``rankhash reproduce`` kept of a method by the paper's protocol, untuned."""
    path = folder / "reproduce" / name / f"{re.sub(r'[^A-Za-z0-9]+', '-', method)}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    return [row for row in rows if row["tuned_for"] is None and row["settings"]["truth"] == "neighbors"]


def methods(folder: Path) -> list[str]:
    """The methods of which ``rankhash reproduce`` kept runs."""
    names = {path.stem for path in (folder / "reproduce").glob("*/*.jsonl")}
    return sorted((name.replace("-", " ") for name in names), key=str.lower)


def head(title: str, columns: Iterable[Any]) -> list[str]:
    """The first two lines of a table; all columns but the first stand to the right."""
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


def origin(facts: dict[str, Any], *more: str) -> str:
    """Where and from which commit something was measured."""
    parts = [
        f"{facts['machine']['cpu']}, {facts['machine']['cores']} cores, {facts['isa']}",
        f"commit {facts['commit'][:10]}" + (" with uncommitted changes" if facts["dirty"] else ""),
        facts["date"][:10],
        *more,
    ]
    return f"_{'; '.join(parts)}._"


def runs_origin(rows: list[dict[str, Any]]) -> str:
    """How many runs, and from which commits."""
    seeds = len({row["seed"] for row in rows})
    commits = sorted({row["origin"]["commit"] + (" (changed)" if row["origin"].get("dirty") else "") for row in rows})
    return f"_Up to {seeds} runs, one thread each; commit {', '.join(commits) or 'none'}._"

"""Tables of results that compare nothing: from plain JSON to Markdown, for render.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def kills(result: dict[str, Any]) -> str:
    """What was left after killing a writer."""
    failures = len(result["failures"])
    lines = ["| what | how often |", "|---|--:|", f"| kills | {result['kills']} |"]
    lines += [f"| {name} | {count} |" for name, count in result["changes"].items()]
    lines.append(f"| **acknowledged changes lost, changes kept by halves, damaged files** | **{failures}** |")
    return "\n".join([*lines, "", _origin(result["provenance"])]) + "\n"


def bounded(result: dict[str, Any]) -> str:
    """Peak memory of the command line."""
    lines = ["| verb | vectors | file, MB | peak memory, MB | seconds |", "|---|--:|--:|--:|--:|"]
    for row in result["records"]:
        size = f"{row['rows']:,} × {row['features']}"
        lines.append(
            f"| {row['verb']} | {size} | {row['file_megabytes']} | {row['megabytes']:.0f} | {row['seconds']} |"
        )
    return "\n".join([*lines, "", _origin(result["provenance"])]) + "\n"


def _origin(facts: dict[str, Any]) -> str:
    machine, dirty = facts["machine"], " with uncommitted changes" if facts["dirty"] else ""
    return f"_{machine['cpu']}, {machine['cores']} cores; commit {facts['commit'][:10]}{dirty}; {facts['date'][:10]}._"


REPORTS: dict[str, Callable[[dict[str, Any]], str]] = {"kill": kills, "bounded": bounded}
"""By the name of the results file."""

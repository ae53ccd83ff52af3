"""Tables of ``engines_dask.py`` for ``render.py``; the last one extrapolates, and says so."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

NOT_MEASURED = "_Not measured yet._\n"
GOALS = {"speedup": 1.7, "added_ms": 100}
SHARD_CODES = 100_000_000
"""Codes of a shard in the extrapolation."""
FAN_IN = 8
SCALES = (10**9, 10**10, 10**11)


def goals(result: dict[str, Any]) -> list[str]:
    """What Dask gives and costs, beside the goals."""
    lines = _head("with 2 workers", "this process", "Dask", "result", "goal", "reached")
    for row in result["encode"]:
        times = row["seconds"]
        what = f"encode {row['vectors']:,} × {row['features']} to {row['bits']} bits"
        others = "; ".join(f"{name} {times[name]:.2f} s" for name in ("two threads", "two processes"))
        for name, way in (("dask", "gathered"), ("dask, codes stay on the workers", "kept on the workers")):
            ratio = times["one thread"] / times[name]
            cells = [f"{times['one thread']:.2f} s; {others}", f"{times[name]:.2f} s", f"{ratio:.2f} × one thread"]
            lines.append(_line(f"{what}, {way}", *cells, "≥ 1.7", _reached(ratio >= GOALS["speedup"], row)))
    for row in result["search"]:
        times = row["seconds"]
        what = f"{row['queries']} queries, {row['codes']:,} codes, {row['shards']} shards"
        cells = [f"two threads {times['native']:.2f} s", f"{times['dask']:.2f} s", f"{row['added_ms']:+.0f} ms"]
        lines.append(_line(what, *cells, "≤ 100 ms", _reached(row["added_ms"] <= GOALS["added_ms"], row)))
    return lines


def fanout(result: dict[str, Any]) -> list[str]:
    """One query over more and more shards."""
    lines = _head("shards", "one query, ms")
    return lines + [_line(f"{row['shards']}", f"{row['milliseconds']:.0f}") for row in result["fanout"]]


def node(result: dict[str, Any]) -> list[str]:
    """What one core does, and what a loss costs."""
    lines = _head("one core", "measured")
    (row,) = result["node"]
    speed, load = row["ns_a_code_and_query"], row["load_seconds"]
    million = row["codes"] / 1e6
    lines += [
        _line("memory a code", f"{row['bytes_a_code']:.2f} bytes ({row['bits']} bits)"),
        _line(f"a batch of {row['queries']} queries", f"{speed['batch']:.3f} ns a code and query"),
        _line("a single query", f"{speed['single']:.3f} ns a code"),
        _line("a shard from its file, checked", f"{1e3 * load['checked'] / million:.1f} ms a million codes"),
        _line("a shard from its file, mapped", f"{1e3 * load['mapped']:.1f} ms"),
    ]
    (lost,) = result["loss"]
    times = lost["seconds"]
    what = f"{lost['queries']} queries over {lost['codes']:,} codes, usually / after one of two workers was killed"
    lines.append(_line(what, f"{times['usual']:.2f} s / {times['after the loss']:.2f} s"))
    return lines


def merge(result: dict[str, Any]) -> list[str]:
    """The tree of merges, simulated."""
    fan_ins = sorted({row["fan_in"] for row in result["merge"]})
    columns = [f"{n} at a time: longest way, ms (all CPU, ms)" for n in fan_ins]
    lines = _head("shards", *columns)
    for shards in sorted({row["shards"] for row in result["merge"]}):
        rows = {row["fan_in"]: row for row in result["merge"] if row["shards"] == shards}
        cells = [f"{rows[n]['longest_ms']:.0f} ({rows[n]['cpu_ms']:.0f})" for n in fan_ins]
        lines.append(_line(f"{shards}", *cells) if all(r["agree"] for r in rows.values()) else "**answers differ**")
    return lines


def scale(result: dict[str, Any]) -> list[str]:
    """What more codes need, by rule of three from what one core was measured to do."""
    (row,) = result["node"]
    used = [row for row in result["merge"] if row["used"]]
    level_ms = max(row["longest_ms"] / row["levels"] for row in used)
    lines = _head(
        "codes",
        "memory, GB",
        "shards",
        "core-seconds a batch",
        "cores for a batch a second",
        "merging, ms, without network",
    )
    for n in SCALES:
        shards = math.ceil(n / SHARD_CODES)
        seconds = n * row["queries"] * row["ns_a_code_and_query"]["batch"] / 1e9
        levels = math.ceil(math.log(shards, FAN_IN))
        cells = [f"{n * row['bytes_a_code'] / 1e9:,.0f}", f"{shards:,}", f"{seconds:,.0f}", f"{math.ceil(seconds):,}"]
        lines.append(_line(f"10^{round(math.log10(n))}", *cells, f"{level_ms * levels:.0f}"))
    batch = f"A batch: {row['queries']} queries, the {used[0]['k']} nearest, {row['bits']} bits."
    return [*lines, "", f"**Extrapolated**, not measured: proportional to the number of codes. {batch}"]


def _head(*columns: str) -> list[str]:
    return [_line(*columns), _line("---", *["--:"] * (len(columns) - 1))]


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _reached(reached: bool, row: dict[str, Any]) -> str:
    if not row["agree"]:
        return "**answers differ**"
    return "yes" if reached else "**no**"


def _origin(result: dict[str, Any]) -> str:
    facts = result["provenance"]
    machine, dirty = facts["machine"], " with uncommitted changes" if facts["dirty"] else ""
    loads = " before, ".join(f"{load[0]:.1f}" for load in facts["load"])
    quick = "**Quick run on small data: not a measurement.** " if result["quick"] else ""
    return (
        f"{quick}_{machine['cpu']}, {machine['cores']} cores, {facts['isa']}; commit {facts['commit'][:10]}{dirty}; "
        f"Dask {result['versions']['dask']}; {facts['date'][:10]}; load {loads} after._"
    )


def _drawn(table: Callable[[dict[str, Any]], list[str]]) -> Callable[[Path], str]:
    def draw(folder: Path) -> str:
        path = folder / "engines_dask.json"
        if not path.exists():
            return NOT_MEASURED
        result = json.loads(path.read_text(encoding="utf-8"))
        return "\n".join([*table(result), "", _origin(result)]) + "\n"

    return draw


BLOCKS = {f"dask_{table.__name__}": _drawn(table) for table in (goals, fanout, node, merge, scale)}

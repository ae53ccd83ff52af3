"""Tables of the Dask engine; the last one extrapolates, and says so."""

from __future__ import annotations

import math
from collections.abc import Callable

from drawing.markdown import heading, line, with_origin, yes_or_no
from harness.results import Results

GOALS = {"speedup": 1.7, "added_ms": 100}
SHARD_CODES = 100_000_000
"""Codes of a shard in the extrapolation."""
FAN_IN = 8
SCALES = (10**9, 10**10, 10**11)


def goals(results: Results) -> list[str]:
    """Speed and cost of Dask, compared with the goals."""
    lines = _head("with 2 workers", "this process", "Dask", "result", "goal", "reached")
    for row in results.having(part="encode"):
        times = row["seconds"]
        what = f"encode {row['vectors']:,} × {row['features']} to {row['bits']} bits"
        others = "; ".join(f"{name} {times[name]:.2f} s" for name in ("two threads", "two processes"))
        for name, way in (("dask", "gathered"), ("dask, codes stay on the workers", "kept on the workers")):
            ratio = times["one thread"] / times[name]
            cells = [f"{times['one thread']:.2f} s; {others}", f"{times[name]:.2f} s", f"{ratio:.2f} × one thread"]
            lines.append(_line(f"{what}, {way}", *cells, "≥ 1.7", yes_or_no(ratio >= GOALS["speedup"], row)))
    for row in results.having(part="search"):
        times = row["seconds"]
        what = f"{row['queries']} queries, {row['codes']:,} codes, {row['shards']} shards"
        cells = [f"two threads {times['native']:.2f} s", f"{times['dask']:.2f} s", f"{row['added_ms']:+.0f} ms"]
        lines.append(_line(what, *cells, "≤ 100 ms", yes_or_no(row["added_ms"] <= GOALS["added_ms"], row)))
    return lines


def fanout(results: Results) -> list[str]:
    """One query over more and more shards."""
    lines = _head("shards", "one query, ms")
    return lines + [_line(f"{row['shards']}", f"{row['milliseconds']:.0f}") for row in results.having(part="fanout")]


def node(results: Results) -> list[str]:
    """What one core does, and what a loss costs."""
    lines = _head("one core", "measured")
    (row,) = results.having(part="node")
    speed, load = row["ns_a_code_and_query"], row["load_seconds"]
    million = row["codes"] / 1e6
    lines += [
        _line("memory per code", f"{row['bytes_a_code']:.2f} bytes ({row['bits']} bits)"),
        _line(f"a batch of {row['queries']} queries", f"{speed['batch']:.3f} ns per code and query"),
        _line("a single query", f"{speed['single']:.3f} ns per code"),
        _line("a shard from its file, checked", f"{1e3 * load['checked'] / million:.1f} ms per million codes"),
        _line("a shard from its file, mapped", f"{1e3 * load['mapped']:.1f} ms"),
    ]
    (lost,) = results.having(part="loss")
    times = lost["seconds"]
    what = f"{lost['queries']} queries over {lost['codes']:,} codes, normally / after one of two workers was killed"
    lines.append(_line(what, f"{times['usual']:.2f} s / {times['after the loss']:.2f} s"))
    return lines


def merge(results: Results) -> list[str]:
    """The tree of merges, simulated."""
    fan_ins = sorted({row["fan_in"] for row in results.having(part="merge")})
    columns = [f"{n} at a time: critical path, ms (all CPU, ms)" for n in fan_ins]
    lines = _head("shards", *columns)
    for shards in sorted({row["shards"] for row in results.having(part="merge")}):
        rows = {row["fan_in"]: row for row in results.having(part="merge") if row["shards"] == shards}
        cells = [f"{rows[n]['longest_ms']:.0f} ({rows[n]['cpu_ms']:.0f})" for n in fan_ins]
        lines.append(_line(f"{shards}", *cells) if all(r["agree"] for r in rows.values()) else "**answers differ**")
    return lines


def scale(results: Results) -> list[str]:
    """What more codes need, by rule of three from what one core was measured to do."""
    (row,) = results.having(part="node")
    used = [row for row in results.having(part="merge") if row["used"]]
    level_ms = max(row["longest_ms"] / row["levels"] for row in used)
    lines = _head(
        "codes",
        "memory, GB",
        "shards",
        "core-seconds per batch",
        "cores for one batch per second",
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


def _head(first: str, *columns: str) -> list[str]:
    return heading(first, columns)


def _line(first: str, *cells: str) -> str:
    return line(first, cells)


def _drawn(table: Callable[[Results], list[str]]) -> tuple[str, Callable[[Results], str]]:
    return "dask_engine", lambda results: with_origin(table(results), results, libraries=("dask",))


TABLES = {f"dask_{table.__name__}": _drawn(table) for table in (goals, fanout, node, merge, scale)}

"""Tables of results that compare nothing: from plain JSON to Markdown, for render.py."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from scale_tables import scale


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


def serve(result: dict[str, Any]) -> str:
    """Searches over HTTP."""
    lines = ["| requests | clients | queries a second | p50, ms | p99, ms | CPU a query, µs | errors |"]
    lines.append("|---|--:|--:|--:|--:|--:|--:|")
    bodies = {"json": "JSON, one vector", "binary": f"binary, {result['batch']} vectors"}
    for row in result["records"]:
        times = "evenly" if row["evenly"] else "at random times"
        what = bodies[row["kind"]] + ("" if row["rate"] is None else f", {row['rate']:,.0f} requests a second, {times}")
        lines.append(
            f"| {what} | {row['clients']} | {row['queries_per_second']:,.0f} | {row['p50_ms']} | {row['p99_ms']} "
            f"| {row['cpu_us_per_query']} | {sum(row['errors'].values())} |"
        )
    idle = result["idle"]
    lines.append(
        f"| JSON beside {idle['connections']:,} idle connections | {idle['clients']} "
        f"| {idle['queries_per_second']:,.0f} | {idle['p50_ms']} | {idle['p99_ms']} "
        f"| | {sum(idle['errors'].values())} |"
    )
    text = [*lines, ""]
    if soak := result.get("soak"):
        text.append(
            f"Over {soak['seconds']:.0f} s at half of the goal: {soak['requests']:,} requests, "
            f"{soak['errors']} errors, "
            f"memory {soak['megabytes'][0]:.0f} MB at first and {soak['megabytes'][-1]:.0f} MB at last "
            f"(the last quarter beside the second: {soak['growth_megabytes']:+.1f} MB).\n"
        )
    size = f"{result['n']:,} codes of {result['bits']} bits ({result['set']}), k={result['k']}"
    warning = "**Quick run on small data: not a measurement.** " if result["quick"] else ""
    load = f"load {result['load'][0]} before, {result['load'][1]} after"
    text.append(f"{warning}_{size}. {_origin(result['provenance']).strip('_.')}; {load}._")
    return "\n".join(text) + "\n"


def postgres(result: dict[str, Any]) -> str:
    """COPY and searches in PostgreSQL."""
    head = [
        "case",
        "COPY, codes a second",
        "with a key",
        "bytes a row",
        "search, ms",
        "by hand",
        "ratio",
        "no pgvector",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    graphs = ["| case | HNSW built, s | ef_search | ms | found |", "|---|--:|--:|--:|--:|"]
    for row in result["records"]:
        n = row["codes"]
        layout = f"L={row['n_symbols']}, K={row['arity']}: {row['bits']} bits"
        name, graph = f"{n:,} codes, {layout}", f"{row['hnsw']['codes']:,} codes, {layout}"
        rates = [f"{n / median(samples):,.0f}" for samples in row["copy"].values()]
        times = {key: 1e3 * median(samples) for key, samples in row["exact"]["samples"].items()}
        wrong = "" if row["exact"]["agree"] else " **answers differ**"
        cells = [
            name + wrong,
            *rates,
            f"{row['table_bytes'] / n:.0f}",
            f"{times['ours']:.1f}",
            f"{times['by hand']:.1f}",
        ]
        cells += [f"{times['ours'] / times['by hand']:.2f}", f"{times['without pgvector']:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
        for search in row["hnsw"]["searches"]:
            spent, built = 1e3 * median(search["samples"]), row["hnsw"]["build_seconds"]
            graphs.append(f"| {graph} | {built:.0f} | {search['ef_search']} | {spent:.1f} | {search['recall']:.3f} |")
    facts = result["settings"]
    used = (
        f"PostgreSQL {facts['server_version']}, pgvector {facts['pgvector']}, shared_buffers {facts['shared_buffers']}"
    )
    return "\n".join([*lines, "", *graphs, "", f"_{used}._ {_origin(result['provenance'])}"]) + "\n"


def _origin(facts: dict[str, Any]) -> str:
    machine, dirty = facts["machine"], " with uncommitted changes" if facts["dirty"] else ""
    return f"_{machine['cpu']}, {machine['cores']} cores; commit {facts['commit'][:10]}{dirty}; {facts['date'][:10]}._"


REPORTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "kill": kills,
    "bounded": bounded,
    "engines_postgres": postgres,
    "serve": serve,
    "scale": scale,
}
"""By the name of the results file."""

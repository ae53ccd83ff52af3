"""Tables of results that compare nothing: from plain JSON to Markdown, for render.py."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
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
}
"""By the name of the results file."""

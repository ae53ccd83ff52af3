"""Tables of the benchmarks of ``systems/`` but for collections and Dask."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from drawing.frontier import ROOF, TICKS
from drawing.markdown import heading, line, with_origin
from drawing.plot import Panel, draw
from harness.results import Results, Row


def kills(results: Results) -> str:
    """What was left after killing a writer."""
    (row,) = results
    lines = ["| what | how often |", "|---|--:|", f"| kills | {row['kills']} |"]
    lines += [f"| {name} | {count} |" for name, count in row["changes"].items()]
    lost = len(row["failures"])
    lines.append(f"| **acknowledged changes lost, partial changes, damaged files** | **{lost}** |")
    return with_origin(lines, results)


def soak(results: Results) -> str:
    """Two servers of one file for a long time."""
    (row,) = results
    lines = ["| requests | answered | p50, ms | p99, ms |", "|---|--:|--:|--:|"]
    lines += [
        f"| {kind} | {n:,} | {row['p50_ms'][kind]} | {row['p99_ms'][kind]} |" for kind, n in row["requests"].items()
    ]
    lines += ["", "| what | how often |", "|---|--:|", f"| kills | {row['kills']} |"]
    lines.append(f"| starts that failed | {row['starts_that_failed']} |")
    lines += [f"| compactions {what} | {count} |" for what, count in row["compactions"].items()]
    lines += [f"| {name} | {count:,} |" for name, count in row["counts"].items()]
    lost = len(row["failures"])
    lines.append(f"| **lost, partial, damaged or wrong** | **{lost}** |")
    lines += [
        "",
        f"Over {row['seconds']:.0f} s the server that was not killed held {row['megabytes'][0]:.0f} MB at first and "
        f"{row['megabytes'][-1]:.0f} MB at last (median of the last quarter of the time less that of the second: "
        f"{row['growth_megabytes']:+.1f} MB). The file had {row['file_megabytes'][0]:.0f} MB at first, at most "
        f"{row['file_megabytes'][1]:.0f} MB, and {row['file_megabytes'][2]:.0f} MB at last. "
        f"The full disk was {row['full_disk']}. Other programs used {row['cores_of_others']:.1f} cores of the machine "
        "meanwhile, which makes times longer.",
    ]
    return with_origin(lines, results)


def cli_memory(results: Results) -> str:
    """Peak memory of the command line."""
    lines = ["| verb | vectors | file, MB | peak memory, MB | seconds |", "|---|--:|--:|--:|--:|"]
    for row in results:
        size = f"{row['rows']:,} × {row['features']}"
        numbers = f"{row['file_megabytes']} | {row['megabytes']:.0f} | {row['seconds']}"
        lines.append(f"| {row['verb']} | {size} | {numbers} |")
    return with_origin(lines, results)


def first_minutes(results: Results) -> str:
    """From embeddings and a CSV file to a served search, step by step."""
    (row,) = results
    lines = ["| step | seconds | share of the true ten nearest |", "|---|--:|--:|"]
    for step, seconds in row["seconds"].items():
        share = f"{row['recall'][step]:.3f}" if step in row["recall"] else ""
        lines.append(f"| {step} | {seconds:.1f} | {share} |".replace("|  |", "| |"))
    goals, worst = row["goals"], min(row["recall"].values())
    in_time = "reached" if row["seconds"]["all"] <= goals["seconds"] else "not reached"
    found = "reached" if worst >= goals["recall"] else "not reached"
    lines += [
        "",
        f"Goals: all in {goals['seconds']} s ({in_time}), every share at least {goals['recall']} ({found}). "
        f"The filter passes {row['passing']:.0%} of "
        f"{row['vectors']:,} × {row['features']}; {row['queries']:,} queries of other reviews; "
        f"the file has {row['file_megabytes']} MB.",
    ]
    return with_origin(lines, results)


def server(results: Results) -> str:
    """Searches over HTTP."""
    lines = ["| requests | clients | queries per second | p50, ms | p99, ms | CPU per query, µs | errors |"]
    lines.append("|---|--:|--:|--:|--:|--:|--:|")
    facts = results.rows[0]["collection"]
    bodies = {"json": "JSON, one vector", "binary": f"binary, {facts['batch']} vectors"}
    for row in [*results.having(what="closed"), *results.having(what="open")]:
        times = "evenly" if row.get("evenly") else "at random times"
        rate = "" if row["what"] == "closed" else f", {row['rate']:,.0f} requests per second, {times}"
        lines.append(_load_line(bodies[row["kind"]] + rate, row))
    idle = results.having(what="idle")
    lines += [_load_line(f"JSON, with {row['connections']:,} idle connections", row) for row in idle]
    for row in results.having(what="soak"):
        lines += ["", _soak(row)]
    size = f"{facts['n']:,} codes of {facts['bits']} bits ({facts['set']}), k={facts['k']}"
    return with_origin(lines, results, size)


def _load_line(what: str, row: Row) -> str:
    return (
        f"| {what} | {row['clients']} | {row['queries_per_second']:,.0f} | {row['p50_ms']} | {row['p99_ms']} "
        f"| {row.get('cpu_us_per_query', '')} | {sum(row['errors'].values())} |"
    ).replace("|  |", "| |")


def _soak(row: Row) -> str:
    return (
        f"Over {row['seconds']:.0f} s at half of the goal: {row['requests']:,} requests, {row['errors']} errors, "
        f"memory {row['megabytes'][0]:.0f} MB at first and {row['megabytes'][-1]:.0f} MB at last "
        f"(the last quarter compared with the second: {row['growth_megabytes']:+.1f} MB)."
    )


POSTGRES = ("COPY, codes per second", "with a key", "bytes per row", "search, ms", "by hand", "ratio", "no pgvector")


def postgres(results: Results) -> str:
    """COPY and searches in PostgreSQL."""
    lines = [text.replace("| --- |", "|---|").replace(" --: |", "--:|") for text in heading("case", POSTGRES)]
    graphs = ["| case | HNSW built, s | ef_search | ms | found |", "|---|--:|--:|--:|--:|"]
    for row in results:
        layout = f"L={row['n_symbols']}, K={row['arity']}: {row['bits']} bits"
        lines.append(_copied(row, layout))
        for search in row["hnsw"]["searches"]:
            graph, spent = f"{row['hnsw']['codes']:,} codes, {layout}", 1e3 * median(search["samples"])
            built = f"{row['hnsw']['build_seconds']:.0f}"
            graphs.append(f"| {graph} | {built} | {search['ef_search']} | {spent:.1f} | {search['recall']:.3f} |")
    facts = results.rows[0]["settings"]
    used = f"PostgreSQL {facts['server_version']}, pgvector {facts['pgvector']}"
    return with_origin([*lines, "", *graphs], results, used, f"shared_buffers {facts['shared_buffers']}")


def _copied(row: Row, layout: str) -> str:
    n = row["codes"]
    times = {key: 1e3 * median(samples) for key, samples in row["exact"]["samples"].items()}
    cells = [f"{n:,} codes, {layout}" + ("" if row["exact"]["agree"] else " **answers differ**")]
    cells += [f"{n / median(samples):,.0f}" for samples in row["copy"].values()]
    cells += [f"{row['table_bytes'] / n:.0f}", f"{times['ours']:.1f}", f"{times['by hand']:.1f}"]
    cells += [f"{times['ours'] / times['by hand']:.2f}", f"{times['without pgvector']:.1f}"]
    return "| " + " | ".join(cells) + " |"


def ann_contract(results: Results) -> str:
    """Recall and time of single queries under the contract of ann-benchmarks."""
    lines: list[str] = []
    for name in results.values_of("set"):
        lines += ["", *heading(name, ("recall of 10", "CPU µs per query", "built in s"))]
        for row in results.having(set=name):
            for run in row["settings"]:
                cells = (f"{run['recall']:.3f}", f"{run['cpu_microseconds']:.0f}", f"{run['build_seconds']:.1f}")
                lines.append(line(run["name"], cells))
    return with_origin(lines[1:], results, "one thread")


def ann_curves(results: Results) -> str:
    """Recall over queries per second of the sets of vectors, one panel per set."""
    panels, legend = [], ["vectors", "faiss", "hnswlib"]
    for name in results.values_of("set"):
        if name.endswith("hamming"):
            continue
        lines = {
            row["algorithm"]: [
                (1 / (1 - min(one["recall"], ROOF)), 1e6 / one["cpu_microseconds"])
                for one in sorted(row["settings"], key=lambda one: one["recall"])
            ]
            for row in results.having(set=name)
        }
        panels.append(Panel(name, "recall of the ten nearest", lines, unit="/s", x_ticks=TICKS))
    return draw(panels, legend=legend)


TABLES: dict[str, tuple[str, Callable[[Results], str]]] = {
    "kill": ("kill", kills),
    "soak": ("soak", soak),
    "cli_memory": ("cli_memory", cli_memory),
    "first_minutes": ("first_minutes", first_minutes),
    "server": ("server", server),
    "postgres": ("postgres", postgres),
    "ann_contract": ("ann_contract", ann_contract),
}
FIGURES: dict[str, tuple[str, Callable[[Results], str]]] = {"ann_contract.svg": ("ann_contract", ann_curves)}

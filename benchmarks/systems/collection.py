"""What a collection in one file costs: opening, adding, and searches compared with its index alone.

Where the goal is a time, the peer is the goal itself: ``limit`` has that many seconds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from harness.comparison import Case, Comparison, Outcome, Suite, at_most, case
from harness.results import Facts, Row
from harness.running import Run
from rankhash import Collection, Matches
from systems._collection_data import draw_metadata, draw_vectors, filled, fitted_hasher
from systems._collection_searches import filtered, first_filtered, reranked, searched

MILLION: Facts = {"n": 1_000_000}
FILTER: Facts = {"what": "where", "n_queries": 1, "extra_ms": 5}
LIMIT, INDEX = {"limit": at_most(1)}, {"index": at_most(1.1)}
SUITE = Suite(
    defaults={"n_symbols": 32, "arity": 4, "k": 10, "n_queries": 64, "n_features": 32, "repeats": 11},
    quick={"n": 5000, "n_queries": 4, "repeats": 2, "batch": 2000},
    cases=(
        case("open 10M codes and search once", LIMIT, what="open", n=10_000_000, repeats=5, seconds=3),
        case(
            "add 1M vectors without ids, 100k at once",
            LIMIT,
            **MILLION,
            what="add",
            batch=100_000,
            repeats=3,
            seconds=5,
        ),
        case(
            "add 1M vectors without ids, 10k at once", LIMIT, **MILLION, what="add", batch=10_000, repeats=3, seconds=5
        ),
        case(
            "add 1M items with string ids and metadata, 100k at once",
            LIMIT,
            **MILLION,
            what="add",
            batch=100_000,
            named=True,
            repeats=3,
            seconds=60,
        ),
        case(
            "add 200k items with string ids, metadata and float16 vectors",
            what="add",
            n=200_000,
            batch=50_000,
            named=True,
            store_vectors="float16",
            repeats=3,
            seconds=60,
        ),
        case("search 1M codes, 64 queries", INDEX, **MILLION, what="search"),
        case("search 1M codes, 64 queries, string ids", INDEX, **MILLION, what="search", named=True),
        case(
            "search 1M codes, 64 queries, string ids that nobody asked for before",
            **MILLION,
            what="search",
            named=True,
            fresh=True,
        ),
        case("search 1M codes, 1 query", **MILLION, what="search", n_queries=1),
        case("where 1 % of 1M items pass, 1 query", LIMIT, **MILLION, **FILTER, share=0.01),
        case("where 50 % of 1M items pass, 1 query", LIMIT, **MILLION, **FILTER, share=0.5),
        case(
            "where 1 % of 1M items pass, 1 query, after deleting 1000",
            LIMIT,
            **MILLION,
            **FILTER,
            share=0.01,
            delete=1000,
        ),
        case(
            "where 50 % of 1M items pass, 1 query, after deleting 1000",
            LIMIT,
            **MILLION,
            **FILTER,
            share=0.5,
            delete=1000,
        ),
        case(
            "where 1 % of 1M items pass, asked for the first time",
            **MILLION,
            what="first",
            n_queries=1,
            share=0.01,
            repeats=3,
        ),
        case(
            "where 1 % of 1M items pass, asked for the first time, field indexed",
            **MILLION,
            what="first",
            n_queries=1,
            share=0.01,
            index_field=True,
            repeats=3,
        ),
        *(
            case(
                f"re-rank 100 candidates of 64 queries by {metric} distance, 1M float16 vectors",
                {"codes": at_most(2)},
                **MILLION,
                what="rerank",
                metric=metric,
                rerank=100,
            )
            for metric in ("euclidean", "cosine", "dot")
        ),
    ),
)


def rows(run: Run) -> Iterator[Row]:
    """One row per case."""
    return SUITE.rows(run, measure)


def measure(case: Case) -> Outcome:
    """What the case's ``what`` names."""
    return KINDS[case.params["what"]](case.params)


def opened(p: dict[str, Any]) -> Outcome:
    """From opening the file to the first answer; the file is in the system's cache, no process is started."""
    with filled(p) as collection:
        path, queries = collection.path, draw_vectors(p, 1, 9)
        expected = collection.search(queries, p["k"], n_threads=1)
        seconds, same = [], True
        for _ in range(p["repeats"]):
            started = time.perf_counter()
            with Collection.open(path) as opened:
                found = opened.search(queries, p["k"], n_threads=1)
                seconds.append(time.perf_counter() - started)
            same &= _equal(found, expected)
        extra = {"file_bytes": collection.stats().file_bytes}
    return _limited("s", seconds, p["seconds"], agree=same, checked="the first answer after each opening", extra=extra)


def added(p: dict[str, Any]) -> Outcome:
    """Vectors in, codes on the disk: hashing, rows, and a synced commit a batch. Making the data is not counted."""
    batch, seconds, right = p["batch"], [], True
    named = p.get("named", False)
    for _ in range(p["repeats"]):
        with tempfile.TemporaryDirectory() as folder:
            hasher, spent = fitted_hasher(p), 0.0
            with Collection.create(f"{folder}/x", hasher, store_vectors=p.get("store_vectors")) as collection:
                for start in range(0, p["n"], batch):
                    n = min(batch, p["n"] - start)
                    vectors = draw_vectors(p, n, start)
                    ids = [f"item-{i:09d}" for i in range(start, start + n)] if named else None
                    described = draw_metadata(p, start, n) if named else None
                    started = time.perf_counter()
                    collection.add(vectors, ids, described)
                    spent += time.perf_counter() - started
                right &= len(collection) == p["n"]
                file_bytes = collection.stats().file_bytes
            seconds.append(spent)
    return _limited(
        "s", seconds, p["seconds"], agree=right, checked="the number of items", extra={"file_bytes": file_bytes}
    )


def _limited(unit: str, seconds: list[float], limit: float, **more: Any) -> Outcome:
    return Outcome(
        unit=unit,
        scale=1,
        clock="wall",
        samples={"wall": {"ours": seconds, "limit": [limit] * len(seconds)}},
        comparisons=[Comparison("limit", "goal", kind="cost")],
        **more,
    )


def _equal(found: Matches, expected: Matches) -> bool:
    return bool((found.ids == expected.ids).all() and (found.distances == expected.distances).all())


KINDS: dict[str, Callable[[dict[str, Any]], Outcome]] = {
    "open": opened,
    "add": added,
    "search": searched,
    "where": filtered,
    "first": first_filtered,
    "rerank": reranked,
}

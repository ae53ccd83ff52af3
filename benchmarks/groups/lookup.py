"""Look-up in hash tables beside the scan and beside FAISS's multi-index hashing; building, changing, memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from typing import Any

import faiss
import numpy as np

import answers
import measure
from case import Case, Comparison, Outcome
from lookup_data import LookupProblem, LookupSpec, lookup_problem
from rankhash import CodeLayout, Neighbors, RadiusNeighbors, TableIndex

DATA = Path(os.environ.get("RANKHASH_DATA", Path(__file__).parents[3] / "shared" / "data"))
CHECKED = 5

faiss.omp_set_num_threads(1)


def run(case: Case) -> Outcome:
    """What the case's ``what`` names."""
    return KINDS[case.params["what"]](case)


# -- the k nearest ---------------------------------------------------------------------------------------------------


def _nearest(case: Case) -> Outcome:
    """Each repetition has queries of its own, one call each or all in one; a sample is their mean time."""
    params = case.params
    p = lookup_problem(LookupSpec.of(params), DATA)
    k, together, count = params["k"], params["together"], params["batch"]
    fresh = p.batches(count)
    now = {"codes": next(fresh)}

    def searches(index: Any) -> measure.Contender:
        def call() -> None:
            step = count if together else 1
            for start in range(0, count, step):
                index.search(now["codes"][start : start + step], k, n_threads=1)

        return call

    contenders = {"ours": searches(p.tables), "scan": searches(p.flat)}
    samples: measure.Samples = {clock: {name: [] for name in contenders} for clock in measure.CLOCKS}
    for turn in range(params["repeats"]):
        now["codes"] = next(fresh)
        _flush()
        for name in sorted(contenders, reverse=bool(turn % 2)):
            for clock, times in measure.one_thread({name: _once(contenders[name])}, 1).items():
                samples[clock][name] += times[name]
    counted = p.tables.statistics(p.queries[: 10 * count], k=k)
    few = p.queries[:: max(1, len(p.queries) // 200)]
    agree = _same(p.tables.search(few, k), p.flat.search(few, k)) and _is_exact(p, k)
    return Outcome(
        unit="µs per query",
        scale=1e6 / count,
        clock="thread",
        samples=samples,
        comparisons=[Comparison("scan", "our own scan", kind=params["compare"])],
        agree=agree,
        checked="with the scan on 200 queries, ties too, and with a NumPy scan on a few",
        extra={
            "n_tables": p.tables.n_tables,
            "spans": p.tables._store.segments[0].spans if p.tables.n_tables else [],
            "mean_of_one_query": {name: mean(times) / count for name, times in samples["thread"].items()},
            **{name: float(np.mean(getattr(counted, name))) for name in counted._fields},
        },
    )


def _once(call: measure.Contender) -> measure.Contender:
    """The call, but nothing in the untimed first round: queries shall be fresh."""
    turns = iter((False, True))
    return lambda: call() if next(turns) else None


def _flush() -> None:
    """Drive everything out of the caches."""
    np.ones(8_000_000).sum()


# -- everything within a radius --------------------------------------------------------------------------------------


def _within(case: Case) -> Outcome:
    """In turn with FAISS; every call is a repetition, so that for single queries medians are medians of queries."""
    params = case.params
    p = lookup_problem(LookupSpec.of(params), DATA)
    radius, step = params["radius"], params["batch"] if params["together"] else 1
    n = step * params["repeats"]
    peer = faiss.IndexBinaryMultiHash(8 * p.layout.n_bytes, params["n_hashes"], params["hash_bits"])
    for start in range(0, len(p.codes), 250_000):
        peer.add(p.codes[start : start + 250_000])
    inside = params["inside"]
    call_time = _empty_call(peer, p.queries) if inside else 0.0
    times: dict[str, list[float]] = {"ours": [], "faiss": []}
    agree = True
    for i, query in enumerate(np.split(p.queries[:n], n // step)):
        calls: dict[str, Callable[[], Any]] = {
            "ours": lambda query=query: (
                p.tables.statistics(query, radius=radius)
                if inside
                else p.tables.search_radius(query, radius, n_threads=1)
            ),
            "faiss": lambda query=query: peer.range_search(query, radius + 1),  # FAISS: nearer than
        }
        found = {}
        for name in sorted(calls, reverse=bool(i % 2)):
            start = time.thread_time()
            found[name] = calls[name]()
            times[name].append(time.thread_time() - start)
        if inside:
            times["ours"][-1] = found["ours"].nanoseconds.sum() / 1e9
            times["faiss"][-1] -= call_time
            found["ours"] = p.tables.search_radius(query, radius, n_threads=1)  # only now: the time was of a cold query
        agree &= _same_hits(found["ours"], *found["faiss"])
    return Outcome(
        unit="µs per query (median)",
        scale=1e6 / step,
        clock="thread",
        samples={"thread": times},
        comparisons=[Comparison("faiss", "FAISS MultiHash")],
        agree=bool(agree),
        checked="the same ids as FAISS for every query",
        extra={"mean": {name: mean(values) for name, values in times.items()}, "n_tables": p.tables.n_tables},
    )


def _empty_call(peer: Any, queries: Any) -> float:
    """What a call of FAISS costs when there is nothing to be found."""
    empty = faiss.IndexBinaryMultiHash(peer.d, peer.nhash, peer.b)
    times = []
    for row in queries[:200]:
        start = time.thread_time()
        empty.range_search(row[None], 1)
        times.append(time.thread_time() - start)
    return median(times)


# -- building, memory, changes ---------------------------------------------------------------------------------------


def _build(case: Case) -> Outcome:
    """Seconds to add all codes to an empty index, on all threads."""
    params = case.params
    p = lookup_problem(LookupSpec.of(params), DATA)
    samples = []
    for _ in range(params["repeats"]):
        index = TableIndex(p.layout)
        start = time.perf_counter()
        index.add(p.codes)
        samples.append(time.perf_counter() - start)
        del index
    peer = faiss.IndexBinaryMultiHash(8 * p.layout.n_bytes, params["n_hashes"], params["hash_bits"])
    start = time.perf_counter()
    peer.add(p.codes)
    theirs = time.perf_counter() - start
    return Outcome(
        unit="s",
        scale=1,
        clock="wall",
        samples={"wall": {"ours": samples, "limit": [5.0 * len(p.codes) / 1e7], "faiss": [theirs]}},
        comparisons=[
            Comparison("limit", "5 s for 10M codes", kind="cost"),
            Comparison("faiss", "FAISS MultiHash, add, one thread"),
        ],
        agree=None,
        checked="nothing to compare",
        extra={"n_threads": len(os.sched_getaffinity(0))},
    )


def _memory(case: Case) -> Outcome:
    """Bytes that the index holds, beside (1 + n_tables) · (bits / 8 + 4) a code."""
    p = lookup_problem(LookupSpec.of(case.params), DATA)
    n, layout, n_tables = len(p.codes), p.layout, p.tables.n_tables
    return Outcome(
        unit="bytes per code",
        scale=1 / n,
        clock="bytes",
        samples={"bytes": {"ours": [p.tables.nbytes], "formula": [n * (1 + n_tables) * (layout.bits / 8 + 4)]}},
        comparisons=[Comparison("formula", f"{1 + n_tables} · (bits / 8 + 4)", kind="cost")],
        agree=None,
        checked="nothing to compare",
        extra={"n_tables": n_tables, "flat": p.flat.nbytes},
    )


def _change(case: Case) -> Outcome:
    """The time of one change of ``count`` codes, and of the slowest search right after one."""
    params = case.params
    spec = LookupSpec.of(params)
    lookup_problem.cache_clear()
    p = lookup_problem(spec, DATA)
    count, rng = params["count"], np.random.default_rng(0)
    times: dict[str, list[float]] = {"ours": [], "limit": [params["limit"]]}
    slowest = 0.0
    for turn in range(params["repeats"]):
        batch = p.queries[turn * count % (len(p.queries) - count) :][:count]
        gone = rng.permutation(p.tables.ids)[:count] if params["change"] == "remove" else None
        start = time.perf_counter()
        if gone is None:
            p.tables.add(batch)
        else:
            p.tables.remove(gone)
        middle = time.perf_counter()
        p.tables.search(batch[:1], 10, n_threads=1)
        slowest = max(slowest, time.perf_counter() - middle)
        times["ours"].append(middle - start)
    lookup_problem.cache_clear()
    return Outcome(
        unit="ms",
        scale=1e3,
        clock="wall",
        samples={"wall": times},
        comparisons=[Comparison("limit", "limit", kind="cost")],
        agree=None,
        checked="nothing to compare",
        extra={"longest_change": max(times["ours"]), "slowest_search_after_a_change": slowest},
    )


# -- answers ---------------------------------------------------------------------------------------------------------


def _same(one: Neighbors, other: Neighbors) -> bool:
    return bool(np.array_equal(one.ids, other.ids) and np.array_equal(one.distances, other.distances))


def _same_hits(ours: RadiusNeighbors, offsets: Any, distances: Any, ids: Any) -> bool:
    """Whether FAISS found the same; it gives the hits of a query in any order."""
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets.astype(np.int64)))
    order = np.lexsort((ids, distances, rows))
    return bool(np.array_equal(offsets, ours.offsets) and np.array_equal(ids[order], ours.ids))


def _is_exact(p: LookupProblem, k: int) -> bool:
    queries = p.queries[:CHECKED]
    tables = [answers.equal_symbols_table(row, p.layout.arity) for row in _symbols(p.layout, queries)]
    return answers.tables_agree(p.layout, p.codes, p.tables.search(queries, k), tables)


def _symbols(layout: CodeLayout, codes: Any) -> Any:
    return layout.unpack(codes)


KINDS = {"nearest": _nearest, "within": _within, "build": _build, "memory": _memory, "change": _change}

"""Searches of hash tables: the k nearest, and everything within a radius."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

import faiss
import numpy as np

from harness import answers, timing
from harness.codes import Spec
from harness.comparison import Case, Comparison, Outcome
from harness.lookup_codes import LookupProblem, lookup_problem
from rankhash import RadiusNeighbors

CHECKED = 5

faiss.omp_set_num_threads(1)


def nearest(case: Case, folder: Path) -> Outcome:
    """Each repetition has queries of its own, one call each or all in one; a sample is their mean time."""
    params = case.params
    p = lookup_problem(Spec.of(params), folder)
    k, together, count = params["k"], params["together"], params["batch"]
    fresh = p.batches(count)
    now = {"codes": next(fresh)}

    def searches(index: Any) -> timing.Contender:
        def call() -> None:
            step = count if together else 1
            for start in range(0, count, step):
                index.search(now["codes"][start : start + step], k, n_threads=1)

        return call

    def renew() -> None:
        now["codes"] = next(fresh)

    contenders = {"ours": searches(p.tables), "scan": searches(p.flat)}
    with busy_cores() if params["busy"] else nullcontext():
        samples = _in_turns(contenders, params["repeats"], renew)
    comparisons = [Comparison("scan", "our own scan", kind=params["compare"])]
    if limit := params["microseconds"]:
        comparisons.append(Comparison("limit", f"{limit} µs", kind="cost"))
        for times in samples.values():
            times["limit"] = [limit * count / 1e6] * params["repeats"]
    few = p.queries[:: max(1, len(p.queries) // 200)]
    agree = answers.same_neighbors(p.tables.search(few, k), p.flat.search(few, k)) and _is_exact(p, k)
    return Outcome(
        unit="µs per query",
        scale=1e6 / count,
        clock="thread",
        samples=samples,
        comparisons=comparisons,
        agree=agree,
        checked="with the scan on 200 queries, ties too, and with a NumPy scan on a few",
        extra=_facts(p, p.queries[: 10 * count], k)
        | {"mean_of_one_query": {name: mean(samples["thread"][name]) / count for name in contenders}},
    )


def _in_turns(contenders: dict[str, timing.Contender], repeats: int, renew: Callable[[], None]) -> timing.Samples:
    """Samples of contenders that change places in every turn; ``renew`` draws the queries of a turn."""
    samples: timing.Samples = {clock: {name: [] for name in contenders} for clock in timing.CLOCKS}
    for turn in range(repeats):
        renew()
        _flush()
        for name in sorted(contenders, reverse=bool(turn % 2)):
            for clock, times in timing.one_thread({name: _once(contenders[name])}, 1).items():
                samples[clock][name] += times[name]
    return samples


@contextmanager
def busy_cores() -> Iterator[None]:
    """A process per core that does nothing but compute."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def _facts(p: LookupProblem, queries: Any, k: int) -> dict[str, Any]:
    """The tables, and means of what the searches of some queries counted."""
    counted = p.tables.statistics(queries, k=k)
    spans = p.tables._store.segments[0].spans if p.tables.n_tables else []
    means = {name: float(np.mean(getattr(counted, name))) for name in counted._fields}
    return {"n_tables": p.tables.n_tables, "spans": spans, **means}


def _once(call: timing.Contender) -> timing.Contender:
    """The call, but nothing in the untimed first round: queries shall be fresh."""
    turns = iter((False, True))
    return lambda: call() if next(turns) else None


def _flush() -> None:
    """Drive everything out of the caches."""
    np.ones(8_000_000).sum()


def within(case: Case, folder: Path) -> Outcome:
    """In turn with FAISS; every call is a repetition, so that for single queries medians are medians of queries."""
    params = case.params
    p = lookup_problem(Spec.of(params), folder)
    radius, step = params["radius"], params["batch"] if params["together"] else 1
    n = step * params["repeats"]
    peer = faiss.IndexBinaryMultiHash(8 * p.layout.n_bytes, params["n_hashes"], params["hash_bits"])
    for start in range(0, len(p.codes), 250_000):
        peer.add(p.codes[start : start + 250_000])
    inside = params["inside"]
    call_time = _empty_call(peer, p.queries) if inside else 0.0
    ours = partial(p.tables.statistics, radius=radius) if inside else _radius_search(p, radius)
    times: dict[str, list[float]] = {"ours": [], "faiss": []}
    agree = True
    for i, query in enumerate(np.split(p.queries[:n], n // step)):
        calls = {"ours": partial(ours, query), "faiss": partial(peer.range_search, query, radius + 1)}  # nearer than
        found: dict[str, Any] = {}
        for name in sorted(calls, reverse=bool(i % 2)):
            began = time.thread_time()
            found[name] = calls[name]()
            times[name].append(time.thread_time() - began)
        if inside:
            times["ours"][-1] = found["ours"].nanoseconds.sum() / 1e9
            times["faiss"][-1] -= call_time
            found["ours"] = _radius_search(p, radius)(query)  # only now: the time was of a cold query
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


def _radius_search(p: LookupProblem, radius: float) -> Callable[[Any], Any]:
    return partial(p.tables.search_radius, radius=radius, n_threads=1)


def _empty_call(peer: Any, queries: Any) -> float:
    """What a call of FAISS costs when there is nothing to be found."""
    empty = faiss.IndexBinaryMultiHash(peer.d, peer.nhash, peer.b)
    times = []
    for row in queries[:200]:
        start = time.thread_time()
        empty.range_search(row[None], 1)
        times.append(time.thread_time() - start)
    return median(times)


def _same_hits(ours: RadiusNeighbors, offsets: Any, distances: Any, ids: Any) -> bool:
    """Whether FAISS found the same; it gives the hits of a query in any order."""
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets.astype(np.int64)))
    order = np.lexsort((ids, distances, rows))
    return bool(np.array_equal(offsets, ours.offsets) and np.array_equal(ids[order], ours.ids))


def _is_exact(p: LookupProblem, k: int) -> bool:
    queries = p.queries[:CHECKED]
    tables = [answers.equal_symbols_table(row, p.layout.arity) for row in p.layout.unpack(queries)]
    return answers.tables_agree(p.layout, p.codes, p.tables.search(queries, k), tables)

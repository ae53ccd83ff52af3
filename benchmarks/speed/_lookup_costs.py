"""What hash tables cost: building, memory, and changes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import faiss
import numpy as np

from harness.codes import Spec
from harness.comparison import Case, Comparison, Outcome
from harness.lookup_codes import lookup_problem
from rankhash import LookupIndex


def build(case: Case, folder: Path) -> Outcome:
    """Seconds to add all codes to an empty index, on all threads."""
    params = case.params
    p = lookup_problem(Spec.of(params), folder)
    samples = []
    for _ in range(params["repeats"]):
        index = LookupIndex(p.layout)
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


def memory(case: Case, folder: Path) -> Outcome:
    """Bytes that the index holds, compared with (1 + n_tables) · (bits / 8 + 4) per code."""
    p = lookup_problem(Spec.of(case.params), folder)
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


def change(case: Case, folder: Path) -> Outcome:
    """The time of one change of ``count`` codes, and of the slowest search right after one."""
    params = case.params
    spec = Spec.of(params)
    lookup_problem.cache_clear()
    p = lookup_problem(spec, folder)
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

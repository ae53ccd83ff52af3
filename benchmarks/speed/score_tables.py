"""Weighted and look-up-table search, exact: ours compared with FAISS IndexPQFastScan of the same number of bits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness import answers, faiss_peers, timing
from harness.codes import Problem, Spec, problem
from harness.comparison import Case, Comparison, Outcome, Suite, at_least, case
from harness.results import Row
from harness.running import Run
from rankhash import Neighbors

CHECKED_QUERIES = 3
Array = NDArray[Any]
SUITE = Suite(
    defaults={"n": 1_000_000, "n_queries": 256, "data": "random", "repeats": 7},
    quick={"n": 20_000, "n_queries": 16, "repeats": 3},
    cases=(
        case("32 bits, K=4, weights, k=10", {"pq": at_least(2.5)}, n_symbols=16, arity=4, k=10, kind="weights"),
        case("32 bits, K=4, tables, k=10", {"pq": at_least(2.5)}, n_symbols=16, arity=4, k=10, kind="tables"),
        case("32 bits, K=4, weights, k=100", {"pq": at_least(1.6)}, n_symbols=16, arity=4, k=100, kind="weights"),
        case("32 bits, K=4, tables, k=100", {"pq": at_least(1.6)}, n_symbols=16, arity=4, k=100, kind="tables"),
        case("64 bits, K=4, weights, k=10", {"pq": at_least(2.5)}, n_symbols=32, arity=4, k=10, kind="weights"),
        case("64 bits, K=4, tables, k=10", {"pq": at_least(2.5)}, n_symbols=32, arity=4, k=10, kind="tables"),
        case("64 bits, K=4, weights, k=100", {"pq": at_least(1.6)}, n_symbols=32, arity=4, k=100, kind="weights"),
        case("64 bits, K=4, tables, k=100", {"pq": at_least(1.6)}, n_symbols=32, arity=4, k=100, kind="tables"),
        case("128 bits, K=4, weights, k=10", {"pq": at_least(2.5)}, n_symbols=64, arity=4, k=10, kind="weights"),
        case("128 bits, K=4, tables, k=10", {"pq": at_least(2.5)}, n_symbols=64, arity=4, k=10, kind="tables"),
        case("128 bits, K=4, weights, k=100", {"pq": at_least(1.6)}, n_symbols=64, arity=4, k=100, kind="weights"),
        case("128 bits, K=4, tables, k=100", {"pq": at_least(1.6)}, n_symbols=64, arity=4, k=100, kind="tables"),
        case("64 bits, K=16, tables, k=10", {"pq": at_least(2.5)}, n_symbols=16, arity=16, k=10, kind="tables"),
        case("64 bits, K=16, tables, k=100", {"pq": at_least(1.6)}, n_symbols=16, arity=16, k=100, kind="tables"),
        case("64 bits, K=4, weights, k=10, clustered", n_symbols=32, arity=4, k=10, kind="weights", data="clustered"),
    ),
)


def rows(run: Run) -> Iterator[Row]:
    """One row per case."""
    return SUITE.rows(run, measure)


def measure(case: Case) -> Outcome:
    """Our search with weights or tables, and PQFastScan (which rounds its tables) in its better mode."""
    spec, k, kind = Spec.of(case.params), case.params["k"], case.params["kind"]
    p = problem(spec)
    weights, tables = inputs(p)
    calls = {
        "weights": partial(p.index.search, p.queries, k, weights=weights, n_threads=1),
        "tables": partial(p.index.search_scores, tables, k, n_threads=1),
    }
    pq = faiss_peers.pq_fast_scan(p.layout.bits, spec.n, spec.n_queries)
    contenders: dict[str, timing.Contender] = {"ours": calls[kind], **dict(pq.contenders("pq", k))}
    return Outcome(
        unit="ns per code·query",
        scale=1e9 / (spec.n * spec.n_queries),
        clock="thread",
        samples=timing.one_thread(contenders, case.params["repeats"]),
        comparisons=[Comparison("pq", "FAISS PQFastScan")],
        agree=_agrees(p, calls[kind](), weights if kind == "weights" else None, tables),
        checked=f"{CHECKED_QUERIES} queries with a NumPy scan in float64; FAISS answers another question",
    )


def inputs(p: Problem) -> tuple[Array, Array]:
    """Weights of symbols, and score tables of all queries, from a fixed seed."""
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 1.5, p.layout.n_symbols).astype(np.float32)
    shape = (len(p.queries), p.layout.n_symbols, p.layout.arity)
    return weights, rng.standard_normal(shape, dtype=np.float32)


def _agrees(p: Problem, ours: Neighbors, weights: Array | None, tables: Array) -> bool:
    if weights is None:
        checked = list(tables[:CHECKED_QUERIES])
    else:
        symbols = p.layout.unpack(p.queries[:CHECKED_QUERIES])
        checked = [answers.equal_symbols_table(row, p.layout.arity, weights) for row in symbols]
    return answers.tables_agree(p.layout, p.codes, ours, checked)

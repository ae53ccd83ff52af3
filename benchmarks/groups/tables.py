"""Weighted and look-up-table search, exact: ours beside FAISS IndexPQFastScan of the same number of bits."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import answers
import measure
import peers
from case import Case, Comparison, Outcome
from data import Problem, Spec, problem
from rankhash import Neighbors

CHECKED_QUERIES = 3
Array = NDArray[Any]


def run(case: Case) -> Outcome:
    """Our search with weights or tables, and PQFastScan (which rounds its tables) in its better mode."""
    spec, k, kind = Spec.of(case.params), case.params["k"], case.params["kind"]
    p = problem(spec)
    weights, tables = _inputs(p)
    calls = {
        "weights": partial(p.index.search, p.queries, k, weights=weights, n_threads=1),
        "tables": partial(p.index.search_tables, tables, k, n_threads=1),
    }
    pq = peers.pq_fast_scan(p.layout.bits, spec.n, spec.n_queries)
    contenders: dict[str, measure.Contender] = {"ours": calls[kind], **dict(pq.contenders("pq", k))}
    return Outcome(
        unit="ns per code·query",
        scale=1e9 / (spec.n * spec.n_queries),
        clock="thread",
        samples=measure.one_thread(contenders, case.params["repeats"]),
        comparisons=[Comparison("pq", "FAISS PQFastScan")],
        agree=_agrees(p, calls[kind](), weights if kind == "weights" else None, tables),
        checked=f"{CHECKED_QUERIES} queries with a NumPy scan in float64; FAISS answers another question",
    )


def _inputs(p: Problem) -> tuple[Array, Array]:
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

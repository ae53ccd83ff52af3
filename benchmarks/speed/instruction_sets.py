"""Comparison of instruction sets on this machine: the same searches with AVX-512 and with AVX2 kernels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from harness import timing
from harness.codes import Spec, problem
from harness.comparison import Case, Comparison, Outcome, Suite, at_least, case
from harness.results import Row
from harness.running import Run
from rankhash import Neighbors, _kernels
from speed.score_tables import inputs

NEW, OLD = "avx512", "avx2"
SUITE = Suite(
    defaults={"n": 1_000_000, "n_queries": 256, "k": 10, "data": "random", "repeats": 9},
    quick={"n": 20_000, "n_queries": 16, "repeats": 3},
    cases=(
        case("64 bits, K=4", {"old": at_least(1.6)}, n_symbols=32, arity=4, kind="hamming"),
        case("64 bits, K=2", {"old": at_least(1.6)}, n_symbols=64, arity=2, kind="hamming"),
        case("64 bits, K=16", {"old": at_least(1.6)}, n_symbols=16, arity=16, kind="hamming"),
        case("128 bits, K=4", n_symbols=64, arity=4, kind="hamming"),
        case("64 bits, K=4, tables", {"old": at_least(1.3)}, n_symbols=32, arity=4, kind="tables"),
        case("64 bits, K=16, tables", {"old": at_least(1.3)}, n_symbols=16, arity=16, kind="tables"),
        case("128 bits, K=16, tables", n_symbols=32, arity=16, kind="tables"),
    ),
)


def rows(run: Run) -> Iterator[Row]:
    """One row per case; none where the machine lacks one of the two sets, which is said."""
    missing = {NEW, OLD} - set(_kernels.cpu_info().available)
    if missing:
        print(f"instruction_sets: this machine has no {' and no '.join(sorted(missing))}; nothing to compare")
        return iter(())
    return SUITE.rows(run, measure)


def measure(case: Case) -> Outcome:
    """One search with both sets."""
    spec, k = Spec.of(case.params), case.params["k"]
    p = problem(spec)
    call: Any = partial(p.index.search, p.queries, k, n_threads=1)
    if case.params["kind"] == "tables":
        call = partial(p.index.search_scores, inputs(p)[1], k, n_threads=1)
    new, old = partial(_with, NEW, call), partial(_with, OLD, call)
    return Outcome(
        unit="ns per code·query",
        scale=1e9 / (spec.n * spec.n_queries),
        clock="thread",
        samples=timing.one_thread({"ours": new, "old": old}, case.params["repeats"]),
        comparisons=[Comparison("old", "AVX2")],
        agree=_same(new(), old()),
        checked="the answers of both sets with each other, all queries",
    )


def _same(one: Neighbors, other: Neighbors) -> bool:
    return np.array_equal(one.ids, other.ids) and np.array_equal(one.distances, other.distances)


def _with(isa: str, call: Any) -> Neighbors:
    """The call on an instruction set; the one before is set again."""
    before = _kernels.cpu_info().isa
    _kernels.use_isa(isa)
    try:
        found: Neighbors = call()
    finally:
        _kernels.use_isa(before)
    return found

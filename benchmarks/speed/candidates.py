"""The cost of many candidates: the best 100 and 1000 relative to the best 10, in the same search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from harness import answers, timing
from harness.codes import Problem, Spec, problem
from harness.comparison import Case, Comparison, Outcome, Suite, at_most, case
from harness.results import Facts, Row
from harness.running import Run
from rankhash import Neighbors
from speed.score_tables import inputs

MANY: Facts = {"n": 1_000_000, "n_queries": 256}
LONE: Facts = {"n": 10_000_000, "n_queries": 1, "repeats": 15}
SHAPES: tuple[tuple[str, Facts], ...] = (
    ("64 bits, K=4", {"n_symbols": 32, "arity": 4, "kind": "hamming"}),
    ("64 bits, K=2", {"n_symbols": 64, "arity": 2, "kind": "hamming"}),
    ("64 bits, K=16", {"n_symbols": 16, "arity": 16, "kind": "hamming"}),
    ("64 bits, K=4, half filtered", {"n_symbols": 32, "arity": 4, "kind": "filter"}),
    ("64 bits, K=4, weights", {"n_symbols": 32, "arity": 4, "kind": "weights"}),
    ("64 bits, K=4, tables", {"n_symbols": 32, "arity": 4, "kind": "tables"}),
    ("64 bits, K=16, tables", {"n_symbols": 16, "arity": 16, "kind": "tables"}),
    ("128 bits, K=16, tables", {"n_symbols": 32, "arity": 16, "kind": "tables"}),
)
GOALS = {100: {"ten": at_most(1.15)}, 1000: {"ten": at_most(1.4)}}


def _cases() -> Iterator[Case]:
    for queries, size in (("256 queries, 1M codes", MANY), ("1 query, 10M codes", LONE)):
        for name, shape in SHAPES:
            for k, goals in GOALS.items():
                yield case(f"{queries}, {name}, k={k}", goals, **size, **shape, k=k)


SUITE = Suite(
    defaults={"data": "random", "repeats": 9},
    quick={"n": 20_000, "n_queries": 4, "repeats": 3},
    cases=tuple(_cases()),
)


def rows(run: Run) -> Iterator[Row]:
    """One row per case."""
    return SUITE.rows(run, measure)


def measure(case: Case) -> Outcome:
    """The same search for k and for 10."""
    spec, k = Spec.of(case.params), case.params["k"]
    p = problem(spec)
    search, tables = _search(p, case.params["kind"])
    return Outcome(
        unit="ms per query",
        scale=1e3 / spec.n_queries,
        clock="thread",
        samples=timing.one_thread({"ours": partial(search, k), "ten": partial(search, 10)}, case.params["repeats"]),
        comparisons=[Comparison("ten", "k=10", kind="cost")],
        agree=_agrees(p, search(k), tables, case.params["kind"]),
        checked="one query with a NumPy scan, ties too",
    )


def _search(p: Problem, kind: str) -> tuple[Callable[[int], Neighbors], Any]:
    """The search of a kind as a function of k, and the score table of its first query."""
    weights, tables = inputs(p)
    equal = partial(answers.equal_symbols_table, p.layout.unpack(p.queries[:1])[0], p.layout.arity)
    if kind == "tables":
        return partial(p.index.search_scores, tables, n_threads=1), tables[0]
    if kind == "weights":
        return partial(p.index.search, p.queries, weights=weights, n_threads=1), equal(weights)
    filter = np.packbits(_half(p), bitorder="little") if kind == "filter" else None
    return partial(p.index.search, p.queries, filter=filter, n_threads=1), equal()


def _half(p: Problem) -> Any:
    return np.random.default_rng(2).random(len(p.codes)) < 0.5


def _agrees(p: Problem, ours: Neighbors, table: Any, kind: str) -> bool:
    truth = answers.scan(p.layout, p.codes, table)
    if kind == "filter":
        truth[~_half(p)] = np.inf
    return answers.is_exact(ours.ids[0], ours.distances[0], truth)

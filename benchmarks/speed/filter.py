"""What a filter costs: the same search with and without one, for any share of codes passing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness import answers, timing
from harness.codes import Problem, Spec, problem
from harness.comparison import Case, Comparison, Outcome, Suite, at_most, case
from harness.results import Facts, Row
from harness.running import Run
from rankhash import Neighbors

CHECKED_QUERIES = 2
Array = NDArray[Any]
MANY: Facts = {"n": 1_000_000, "n_queries": 256}
LONE: Facts = {"n": 10_000_000, "n_queries": 1}
IN_ONE_RUN: Facts = {"pattern": "run", "given_as": "bitmap"}
GOAL = {"unfiltered": at_most(1.2)}
SUITE = Suite(
    defaults={
        "n_symbols": 32,
        "arity": 4,
        "k": 10,
        "data": "random",
        "pattern": "random",
        "given_as": "bitmap",
        "repeats": 11,
    },
    quick={"n": 20_000, "n_queries": 4, "repeats": 3},
    cases=(
        case("256 queries, 1M codes, 100 % pass", GOAL, **MANY, share=1),
        case("256 queries, 1M codes, 50 % pass", GOAL, **MANY, share=0.5),
        case("256 queries, 1M codes, 10 % pass", GOAL, **MANY, share=0.1),
        case("256 queries, 1M codes, 3 % pass", GOAL, **MANY, share=0.03),
        case("256 queries, 1M codes, 1 % pass", GOAL, **MANY, share=0.01),
        case("256 queries, 1M codes, 0.1 % pass", GOAL, **MANY, share=0.001),
        case("256 queries, 1M codes, 0.01 % pass", GOAL, **MANY, share=0.0001),
        case("256 queries, 1M codes, 10 % pass, in one run", **MANY, **IN_ONE_RUN, share=0.1),
        case("256 queries, 1M codes, 1 % pass, in one run", **MANY, **IN_ONE_RUN, share=0.01),
        case("256 queries, 1M codes, 10 % pass, given as mask", **MANY, share=0.1, pattern="random", given_as="mask"),
        case("256 queries, 1M codes, 0.1 % pass, given as ids", **MANY, share=0.001, pattern="random", given_as="ids"),
        case("1 query, 10M codes, 100 % pass", GOAL, **LONE, share=1),
        case("1 query, 10M codes, 50 % pass", GOAL, **LONE, share=0.5),
        case("1 query, 10M codes, 10 % pass", GOAL, **LONE, share=0.1),
        case("1 query, 10M codes, 3 % pass", GOAL, **LONE, share=0.03),
        case("1 query, 10M codes, 1 % pass", GOAL, **LONE, share=0.01),
        case("1 query, 10M codes, 0.1 % pass", GOAL, **LONE, share=0.001),
        case("1 query, 10M codes, 0.01 % pass", GOAL, **LONE, share=0.0001),
        case("1 query, 10M codes, 10 % pass, in one run", **LONE, **IN_ONE_RUN, share=0.1),
        case("1 query, 10M codes, 1 % pass, in one run", **LONE, **IN_ONE_RUN, share=0.01),
        case("1 query, 10M codes, 10 % pass, given as mask", **LONE, share=0.1, pattern="random", given_as="mask"),
        case("1 query, 10M codes, 0.1 % pass, given as ids", **LONE, share=0.001, pattern="random", given_as="ids"),
    ),
)


def rows(run: Run) -> Iterator[Row]:
    """One row per case."""
    return SUITE.rows(run, measure)


def measure(case: Case) -> Outcome:
    """A search with a filter, compared with the same search without one."""
    spec, k = Spec.of(case.params), case.params["k"]
    p = problem(spec)
    passing = _passing(spec.n, case.params["share"], case.params["pattern"])
    ours = partial(p.index.search, p.queries, k, filter=_given_as(passing, case.params["given_as"]), n_threads=1)
    contenders = {"ours": ours, "unfiltered": partial(p.index.search, p.queries, k, n_threads=1)}
    return Outcome(
        unit="ms per query",
        scale=1e3 / spec.n_queries,
        clock="thread",
        samples=timing.one_thread(contenders, case.params["repeats"]),
        comparisons=[Comparison("unfiltered", "unfiltered", kind="cost")],
        agree=_agrees(p, ours(), passing),
        checked=f"up to {CHECKED_QUERIES} queries with a NumPy scan of the codes that pass, ties too",
        extra={"passing": int(passing.sum())},
    )


def _passing(n: int, share: float, pattern: str) -> Array:
    """A mask of ``share`` of ``n`` codes: drawn at random, or one run from the middle."""
    mask = np.zeros(n, dtype=bool)
    count = max(1, round(share * n))
    if pattern == "run":
        mask[(n - count) // 2 :][:count] = True
    else:
        mask[np.random.default_rng(2).permutation(n)[:count]] = True
    return mask


def _given_as(mask: Array, form: str) -> Array:
    if form == "ids":
        return np.flatnonzero(mask)
    return np.packbits(mask, bitorder="little") if form == "bitmap" else mask


def _agrees(p: Problem, ours: Neighbors, passing: Array) -> bool:
    for q, row in enumerate(p.layout.unpack(p.queries[:CHECKED_QUERIES])):
        truth = answers.scan(p.layout, p.codes, answers.equal_symbols_table(row, p.layout.arity))
        truth[~passing] = np.inf
        if not answers.is_exact(ours.ids[q], ours.distances[q], truth):
            return False
    return True

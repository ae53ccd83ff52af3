"""What a filter costs: the same search with and without one, for any share of codes passing."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import answers
import measure
from case import Case, Comparison, Outcome
from data import Problem, Spec, problem
from rankhash import Neighbors

CHECKED_QUERIES = 2
Array = NDArray[Any]


def run(case: Case) -> Outcome:
    """Our search under a filter beside our search without."""
    spec, k = Spec.of(case.params), case.params["k"]
    p = problem(spec)
    passing = _passing(spec.n, case.params["share"], case.params["pattern"])
    ours = partial(p.index.search, p.queries, k, filter=_given_as(passing, case.params["given_as"]), n_threads=1)
    contenders = {"ours": ours, "unfiltered": partial(p.index.search, p.queries, k, n_threads=1)}
    return Outcome(
        unit="ms per query",
        scale=1e3 / spec.n_queries,
        clock="thread",
        samples=measure.one_thread(contenders, case.params["repeats"]),
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

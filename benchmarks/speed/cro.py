"""Encoding by CRO: pseudo-random rotations (``fast=True``) compared with a matrix product."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from harness import timing
from harness.comparison import Case, Comparison, Outcome, Suite, case
from harness.results import Row
from harness.running import Run
from rankhash import CRO

ARITY = 4
SUITE = Suite(
    defaults={"n": 2000, "n_symbols": 256, "repeats": 7},
    quick={"n": 100, "repeats": 3},
    cases=tuple(case(f"{d} dimensions, 1024 projections", d=d) for d in (128, 1024, 4096)),
)


def rows(run: Run) -> Iterator[Row]:
    """One row per number of dimensions."""
    return SUITE.rows(run, measure)


def measure(case: Case) -> Outcome:
    """``fast=True``, and the plain form."""
    params = case.params
    vectors = np.random.default_rng(0).standard_normal((params["n"], params["d"]), np.float32)
    fitted = {fast: CRO(params["n_symbols"], ARITY, fast=fast, random_state=0).fit(vectors) for fast in (True, False)}
    names = {True: "ours", False: "plain"}
    return Outcome(
        unit="µs per vector",
        scale=1e6 / params["n"],
        clock="thread",
        samples=timing.one_thread(
            {names[fast]: partial(hasher.encode, vectors, n_threads=1) for fast, hasher in fitted.items()},
            params["repeats"],
        ),
        comparisons=[Comparison("plain", "fast=False")],
        agree=None,
        checked="nothing: the two forms have different directions",
    )

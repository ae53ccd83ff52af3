"""How long RSH and SRSH learn: nanoseconds per pair, seconds per fit, and how both grow. One thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import clustered_vectors
from harness.timing import one_thread
from rankhash import RSH, SRSH, Hasher, _kernels
from rankhash._types import F32

GOALS = {40: 100, 128: 180, 512: 500}
"""Nanoseconds per pair, by dimensions."""

N_PAIRS = 100_000
LENGTHS = (8, 32, 128)
POINTS = (1000, 4000, 16_000, 64_000)
REPEATS = 5
METHODS: dict[str, Callable[[int], Hasher]] = {
    "RSH": lambda n: RSH(n, random_state=0),
    "SRSH hinge": lambda n: SRSH(n, random_state=0),
    "SRSH bound": lambda n: SRSH(n, update="bound", random_state=0),
}


def rows(run: Run) -> Iterator[Row]:
    """One row per kernel case, and one per method and size of a fit."""
    sizes = (1000,) if run.quick else (1000, 100_000)
    for key in run.wanted({"what": "pair", "d": d, "n_points": n} for d in GOALS for n in sizes):
        yield Row(key, pair_values(key["d"], key["n_points"], 1 if run.quick else 3 * REPEATS))
    cases = [(n_symbols, POINTS[0]) for n_symbols in LENGTHS] + [(32, n) for n in POINTS[1:]]
    for n_symbols, n in cases[:1] if run.quick else cases:
        case = {"n_symbols": n_symbols, "n_points": n, "d": 40}
        wanted = list(run.wanted({"what": "fit", "method": method, **case} for method in METHODS))
        repeats = REPEATS if n <= POINTS[0] and not run.quick else 1
        times = fit_times([key["method"] for key in wanted], n_symbols, n, repeats)
        for key in wanted:
            samples = times[key["method"]]
            yield Row(key, {"seconds": round(median(samples), 3), "samples": samples})


def _points(n: int, d: int) -> F32:
    """Clustered vectors of unit mean square length."""
    x = clustered_vectors(n, d, n_centres=50, last=1.0)
    scaled: F32 = x / np.sqrt((x * x).sum(axis=1).mean())
    return scaled


def pair_values(d: int, n: int, repeats: int) -> Facts:
    """Nanoseconds per pair of the online loop, arity 4."""
    rng, x = np.random.default_rng(1), _points(n, d)
    pairs = rng.integers(0, n, (N_PAIRS, 2)).astype(np.int32)
    labels = (rng.random(N_PAIRS) < 0.05).astype(np.uint8)
    start = (1.5 * rng.standard_normal((4, d))).astype(np.float32)
    rule: dict[str, Any] = {"hinge": False, "rho": 0.7, "lam": 1.0}
    rule |= {"rate": 0.075, "rate_step": -0.075 / N_PAIRS, "age": -N_PAIRS // 2}

    def train() -> float:
        weights, lag = start.copy(), np.zeros_like(start)
        totals = _kernels.train_pairs(x, pairs, labels, weights, lag, **rule)
        return float(totals.updates / N_PAIRS)

    samples = one_thread({"train": train}, repeats)["thread"]["train"]
    values = {"ns": round(median(samples) / N_PAIRS * 1e9, 1), "goal": GOALS[d]}
    return values | {"updated": round(train(), 3), "samples": samples}


def fit_times(methods: list[str], n_symbols: int, n: int, repeats: int) -> dict[str, list[float]]:
    """CPU seconds of whole fits, the methods taking turns."""
    x = _points(n, 40)
    contenders = {name: lambda make=METHODS[name]: make(n_symbols).fit(x) for name in methods}
    return one_thread(contenders, repeats)["thread"] if contenders else {}

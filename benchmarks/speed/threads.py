"""What a second thread brings, in wall-clock time, since that is what threads are for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from statistics import median
from threading import Thread
from typing import Any

import numpy as np

from harness import answers, timing
from harness.codes import Spec, problem
from harness.comparison import Case, Comparison, Outcome, Suite, at_least, case
from harness.results import Row
from harness.running import Run
from rankhash import FlatIndex

SUITE = Suite(
    defaults={"n": 1_000_000, "n_queries": 256, "k": 10, "data": "random", "n_threads": 2, "rounds": 7, "repeats": 15},
    quick={"n": 20_000, "n_queries": 64, "rounds": 1, "repeats": 3},
    cases=(
        case("64 bits, K=4, 1M codes, 256 queries, k=10", {"one_thread": at_least(1.8)}, n_symbols=32, arity=4),
        case("128 bits, K=4, 1M codes, 256 queries, k=10", {"one_thread": at_least(1.8)}, n_symbols=64, arity=4),
    ),
)


def rows(run: Run) -> Iterator[Row]:
    """One row per case."""
    return SUITE.rows(run, measure)


def measure(case: Case) -> Outcome:
    """Rounds of two threads compared with one; the best round of each counts, since other processes disturb both."""
    spec, k, n_threads = Spec.of(case.params), case.params["k"], case.params["n_threads"]
    if len(os.sched_getaffinity(0)) < n_threads:
        raise RuntimeError(f"this case needs {n_threads} cores; run it where the process may use them")
    p = problem(spec)
    many = partial(p.index.search, p.queries, k, n_threads=n_threads)
    one = partial(p.index.search, p.queries, k, n_threads=1)
    apart = partial(_apart, p.index, np.array_split(p.queries, n_threads), k)
    samples: timing.Samples = {clock: {} for clock in timing.CLOCKS}
    loads = []
    for turn in range(1, case.params["rounds"] + 1):
        loads.append(os.getloadavg()[0])
        turns: dict[str, timing.Contender] = {
            f"ours:round {turn}": many,
            f"one_thread:round {turn}": one,
            f"apart:round {turn}": apart,
        }
        for clock, times in timing.interleave(turns, case.params["repeats"]).items():
            samples[clock].update(times)
    return Outcome(
        unit="ms per batch",
        scale=1e3,
        clock="wall",
        samples=samples,
        comparisons=[
            Comparison("one_thread", "one thread", show_variant=False),
            Comparison("apart", "separate searches, a thread each", show_variant=False),
        ],
        agree=answers.same_neighbors(many(), one()),
        checked="both thread counts give the same arrays",
        extra={"load_before_each_round": loads, "cpu_time_over_one_thread": _cpu_overhead(samples)},
    )


def _apart(index: FlatIndex, parts: list[Any], k: int) -> None:
    """Searches that share nothing but the codes, one per thread: an upper limit of what the cores can give."""
    threads = [Thread(target=index.search, args=(part, k), kwargs={"n_threads": 1}) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _cpu_overhead(samples: timing.Samples) -> float:
    """CPU time of all threads over that of one thread's run: 1 if nothing is lost to sharing."""
    by_name = samples["process"]
    ours = min(median(v) for name, v in by_name.items() if name.startswith("ours"))
    return ours / min(median(v) for name, v in by_name.items() if name.startswith("one_thread"))

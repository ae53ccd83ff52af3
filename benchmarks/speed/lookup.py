"""Look-up in hash tables: searches compared with the scan and with FAISS, building, changes and memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from harness.comparison import Case, Outcome, Suite, at_least, at_most, case
from harness.results import Facts, Row
from harness.running import Run
from speed._lookup_costs import build, change, memory
from speed._lookup_searches import nearest, within

KINDS = {"nearest": nearest, "within": within, "build": build, "memory": memory, "change": change}

K2: Facts = {"n_symbols": 64, "arity": 2}
K4: Facts = {"n_symbols": 32, "arity": 4}
SINGLE_RADIUS: Facts = {"what": "within", "repeats": 1500}
SCAN, FAISS = {"scan": at_least(20)}, {"faiss": at_least(10)}
LIMIT, FORMULA, NO_SLOWER = {"limit": at_most(1)}, {"formula": at_most(1)}, {"scan": at_most(1.1)}
BUSY: Facts = {"data": "random", "compare": "cost", "busy": True}
SUITE = Suite(
    defaults={
        "n": 10_000_000,
        "n_queries": 12_000,
        "k": 10,
        "data": "clustered",
        "what": "nearest",
        "compare": "speedup",
        "together": False,
        "batch": 100,
        "repeats": 9,
        "radius": 3,
        "inside": False,
        "n_hashes": 4,
        "hash_bits": 16,
        "count": 10_000,
        "change": "add",
        "limit": 0.05,
        "microseconds": 0,
        "busy": False,
    },
    quick={"n": 30_000, "n_queries": 400, "batch": 10, "repeats": 2, "count": 100, "n_hashes": 4, "hash_bits": 16},
    cases=(
        case("top 10 of 10M, K=2, clustered, one at a time", SCAN, **K2),
        case("top 10 of 10M, K=2, clustered, 100 together", **K2, together=True),
        case("within 3, 10M, K=2, clustered, one at a time", FAISS, **K2, **SINGLE_RADIUS),
        case(
            "within 3, 10M, K=2, clustered, one at a time, without the call from Python",
            FAISS,
            **K2,
            **SINGLE_RADIUS,
            inside=True,
        ),
        case("within 3, 10M, K=2, clustered, 100 together", FAISS, **K2, what="within", together=True, repeats=30),
        case("build, 10M, K=2, two threads", LIMIT, **K2, what="build", repeats=3),
        case("memory, 10M, K=2", FORMULA, **K2, what="memory"),
        case("add 10k codes to 10M, K=2", LIMIT, **K2, what="change", repeats=7),
        case("remove 10k codes of 10M, K=2", LIMIT, **K2, what="change", change="remove", repeats=7),
        case("top 10 of 10M, K=4, clustered, one at a time", SCAN, **K4),
        case("top 10 of 10M, K=4, clustered, 100 together", **K4, together=True),
        case("build, 10M, K=4, two threads", LIMIT, **K4, what="build", repeats=3),
        case("memory, 10M, K=4", FORMULA, **K4, what="memory"),
        case("within 3, 1M, K=2, clustered, one at a time", FAISS, **K2, **SINGLE_RADIUS, n=1_000_000),
        case(
            "within 3, 1M, K=2, clustered, one at a time, without the call from Python",
            FAISS,
            **K2,
            **SINGLE_RADIUS,
            n=1_000_000,
            inside=True,
        ),
        case(
            "within 3, 1M, K=2, clustered, 100 together",
            FAISS,
            **K2,
            n=1_000_000,
            what="within",
            together=True,
            repeats=30,
        ),
        case("memory, 1M, K=4", FORMULA, **K4, n=1_000_000, what="memory"),
        case("top 10 of 1M, K=4, random, one at a time", NO_SLOWER, **K4, n=1_000_000, data="random", compare="cost"),
        case(
            "top 10 of 1M, K=4, random, 100 together",
            NO_SLOWER,
            **K4,
            n=1_000_000,
            data="random",
            compare="cost",
            together=True,
        ),
        case("top 10 of 10M, K=2, random, one at a time", NO_SLOWER, **K2, data="random", compare="cost"),
        case("top 10 of 10M, K=2, random, 100 together", NO_SLOWER, **K2, data="random", compare="cost", together=True),
        *(
            case(f"{name}, random, one at a time, a busy process per core", NO_SLOWER, **shape, **BUSY)
            for name, shape in (("top 10 of 1M, K=4", K4 | {"n": 1_000_000}), ("top 10 of 10M, K=2", K2))
        ),
        *(
            case(f"top 10 of {size}, {name}, clustered, one at a time", goals, **shape, **params)
            for size, goals, params in (
                ("2M", {"limit": at_most(1)}, {"n": 2_000_000, "microseconds": 25}),
                ("8M", {"scan": at_least(50)}, {"n": 8_000_000}),
            )
            for name, shape in (("K=2", K2), ("K=4", K4))
        ),
        case("top 10 of 10M, K=2, learned from SIFT, one at a time", SCAN, **K2, data="sift", n_queries=4000),
        case("within 3, 10M, K=2, learned from SIFT", FAISS, **K2, **SINGLE_RADIUS, data="sift", n_queries=4000),
        case("top 10 of 10M, K=4, learned from SIFT, one at a time", SCAN, **K4, data="sift", n_queries=4000),
        case("top 10 of 10M, K=2, learned from MNIST, one at a time", SCAN, **K2, data="mnist", n_queries=4000),
        case("top 10 of 10M, K=4, learned from MNIST, one at a time", SCAN, **K4, data="mnist", n_queries=4000),
    ),
)


def rows(run: Run) -> Iterator[Row]:
    """One row per case."""
    return SUITE.rows(run, partial(measure, folder=run.data))


def measure(case: Case, folder: Path) -> Outcome:
    """What the case's ``what`` names, on real vectors of ``folder`` where the case wants learned codes."""
    return KINDS[case.params["what"]](case, folder)

"""One query against codes that fit no cache: ours compared with FAISS and with merely reading as many bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness import timing
from harness.codes import Codes, problem
from harness.comparison import Case, Comparison, Outcome, Suite, at_least, case
from harness.results import Row
from harness.running import Run
from speed import scan

SUITE = Suite(
    defaults={"n": 10_000_000, "n_queries": 1, "k": 10, "data": "random", "repeats": 21},
    quick={"n": 20_000, "repeats": 3},
    cases=(
        case("64 bits, K=4", {"faiss": at_least(3.5), "read": at_least(0.85)}, n_symbols=32, arity=4),
        case("64 bits, K=2", {"faiss": at_least(3.5), "read": at_least(0.85)}, n_symbols=64, arity=2),
        case("64 bits, K=16", {"faiss": at_least(3.5), "read": at_least(0.85)}, n_symbols=16, arity=16),
        case("128 bits, K=4", n_symbols=64, arity=4),
    ),
)


def rows(run: Run) -> Iterator[Row]:
    """One row per case."""
    return SUITE.rows(run, measure)


def measure(case: Case) -> Outcome:
    """Our scan, FAISS on the same-answer embedding, and the fastest of three reductions over the codes."""
    spec, k, contenders = scan.contest(case)
    p = problem(spec)
    contenders.update(readers(p.codes))
    n_bytes = spec.n * p.layout.bits // 8
    return Outcome(
        unit="ms per query",
        scale=1e3 / spec.n_queries,
        clock="thread",
        samples=timing.one_thread(contenders, case.params["repeats"]),
        comparisons=[
            Comparison("faiss", "FAISS one-hot" if spec.arity > 2 else "FAISS"),
            Comparison("read", "reading the same bytes", n_bytes=n_bytes),
        ],
        agree=scan.agrees(spec, k),
        checked="with both modes of FAISS up to ties, and with a NumPy scan, ties too",
        extra={"bytes_of_codes": n_bytes},
    )


def readers(codes: Codes) -> dict[str, timing.Contender]:
    """Reductions in NumPy that do next to nothing but read ``codes``."""
    flat = codes.reshape(-1)
    words = flat[: flat.size // 8 * 8]
    return {
        "read:max of bytes": flat.max,
        "read:max of int32": words.view(np.int32).max,
        "read:sum of uint64": words.view(np.uint64).sum,
    }

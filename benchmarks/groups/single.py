"""One query against codes that fit no cache: ours beside FAISS and beside merely reading as many bytes."""

from __future__ import annotations

from functools import partial

import numpy as np

import measure
import peers
from case import Case, Comparison, Outcome
from data import Codes, Spec, problem
from groups import scan


def run(case: Case) -> Outcome:
    """Our scan, FAISS on the same-answer embedding, and the fastest of three reductions over the codes."""
    spec, k = Spec.of(case.params), case.params["k"]
    p, faiss = problem(spec), peers.same_answer(spec)
    ours = partial(p.index.search, p.queries, k, n_threads=1)
    contenders: dict[str, measure.Contender] = {"ours": ours, **dict(faiss.contenders("faiss", k))}
    contenders.update(readers(p.codes))
    n_bytes = spec.n * p.layout.bits // 8
    return Outcome(
        unit="ms per query",
        scale=1e3 / spec.n_queries,
        clock="thread",
        samples=measure.one_thread(contenders, case.params["repeats"]),
        comparisons=[
            Comparison("faiss", "FAISS one-hot" if spec.arity > 2 else "FAISS"),
            Comparison("read", "reading the same bytes", n_bytes=n_bytes),
        ],
        agree=scan.agrees(p, ours(), faiss, k),
        checked="with both modes of FAISS up to ties, and with a NumPy scan, ties too",
        extra={"bytes_of_codes": n_bytes},
    )


def readers(codes: Codes) -> dict[str, measure.Contender]:
    """Reductions in NumPy that do next to nothing but read ``codes``."""
    flat = codes.reshape(-1)
    words = flat[: flat.size // 8 * 8]
    return {
        "read:max of bytes": flat.max,
        "read:max of int32": words.view(np.int32).max,
        "read:sum of uint64": words.view(np.uint64).sum,
    }

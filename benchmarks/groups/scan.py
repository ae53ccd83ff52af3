"""A batch of queries against every code, unweighted: ours beside FAISS IndexBinaryFlat."""

from __future__ import annotations

from functools import partial

import answers
import measure
import peers
from case import Case, Comparison, Outcome
from data import Problem, Spec, problem
from rankhash import Neighbors

CHECKED_QUERIES = 3


def run(case: Case) -> Outcome:
    """Our scan, FAISS on the same-answer embedding, and for K>2 FAISS on the plain bits for information."""
    spec, k = Spec.of(case.params), case.params["k"]
    p, faiss = problem(spec), peers.same_answer(spec)
    ours = partial(p.index.search, p.queries, k, n_threads=1)
    contenders: dict[str, measure.Contender] = {"ours": ours, **dict(faiss.contenders("faiss", k))}
    comparisons = [Comparison("faiss", "FAISS one-hot" if spec.arity > 2 else "FAISS")]
    if spec.arity > 2:
        contenders.update(peers.plain_bits(spec).contenders("faiss_plain", k))
        comparisons.append(Comparison("faiss_plain", "FAISS plain bits, another answer"))
    return Outcome(
        unit="ns per code·query",
        scale=1e9 / (spec.n * spec.n_queries),
        clock="thread",
        samples=measure.one_thread(contenders, case.params["repeats"]),
        comparisons=comparisons,
        agree=agrees(p, ours(), faiss, k),
        checked=f"all queries with FAISS up to ties; {CHECKED_QUERIES} with a NumPy scan, ties too",
    )


def agrees(p: Problem, ours: Neighbors, faiss: peers.BinaryFlat, k: int) -> bool:
    """Whether FAISS finds the same, and a few queries are exactly what a NumPy scan gives."""
    for use_heap in (True, False):
        distances, ids = faiss.search(k, use_heap=use_heap)
        if not answers.same_up_to_ties(ours, ids, distances, faiss.scale):
            return False
    symbols = p.layout.unpack(p.queries[:CHECKED_QUERIES])
    tables = [answers.equal_symbols_table(row, p.layout.arity) for row in symbols]
    return answers.tables_agree(p.layout, p.codes, ours, tables)

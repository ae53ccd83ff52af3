"""A batch of queries against every code, unweighted: ours compared with FAISS IndexBinaryFlat."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from harness import answers, faiss_peers, timing
from harness.codes import Spec, problem
from harness.comparison import Case, Comparison, Outcome, Suite, at_least, case
from harness.results import Row
from harness.running import Run

CHECKED_QUERIES = 3
SUITE = Suite(
    defaults={"n": 1_000_000, "n_queries": 256, "data": "random", "repeats": 9},
    quick={"n": 20_000, "n_queries": 16, "repeats": 3},
    cases=(
        case("64 bits, K=4, k=10", {"faiss": at_least(6)}, n_symbols=32, arity=4, k=10),
        case("64 bits, K=4, k=100", n_symbols=32, arity=4, k=100),
        case("64 bits, K=2, k=10", {"faiss": at_least(6)}, n_symbols=64, arity=2, k=10),
        case("64 bits, K=2, k=100", n_symbols=64, arity=2, k=100),
        case("64 bits, K=16, k=10", {"faiss": at_least(9)}, n_symbols=16, arity=16, k=10),
        case("64 bits, K=16, k=100", n_symbols=16, arity=16, k=100),
        case("128 bits, K=4, k=10", {"faiss": at_least(3)}, n_symbols=64, arity=4, k=10),
        case("128 bits, K=4, k=100", n_symbols=64, arity=4, k=100),
        case("128 bits, K=16, k=10", {"faiss": at_least(4.5)}, n_symbols=32, arity=16, k=10),
        case("128 bits, K=16, k=100", n_symbols=32, arity=16, k=100),
        case("128 bits, K=2, k=10", n_symbols=128, arity=2, k=10),
        case("128 bits, K=2, k=100", n_symbols=128, arity=2, k=100),
        case("32 bits, K=4, k=10", n_symbols=16, arity=4, k=10),
        case("32 bits, K=4, k=100", n_symbols=16, arity=4, k=100),
        case("256 bits, K=4, k=10", n_symbols=128, arity=4, k=10),
        case("256 bits, K=4, k=100", n_symbols=128, arity=4, k=100),
        case("64 bits, K=4, k=10, clustered", n_symbols=32, arity=4, k=10, data="clustered"),
        case("64 bits, K=16, k=10, clustered", n_symbols=16, arity=16, k=10, data="clustered"),
    ),
)


def rows(run: Run) -> Iterator[Row]:
    """One row per case."""
    return SUITE.rows(run, measure)


def measure(case: Case) -> Outcome:
    """Our scan, FAISS on the same-answer embedding, and for K>2 FAISS on the plain bits for information."""
    spec, k, contenders = contest(case)
    comparisons = [Comparison("faiss", "FAISS one-hot" if spec.arity > 2 else "FAISS")]
    if spec.arity > 2:
        contenders.update(faiss_peers.plain_bits(spec).contenders("faiss_plain", k))
        comparisons.append(Comparison("faiss_plain", "FAISS plain bits, another answer"))
    return Outcome(
        unit="ns per code·query",
        scale=1e9 / (spec.n * spec.n_queries),
        clock="thread",
        samples=timing.one_thread(contenders, case.params["repeats"]),
        comparisons=comparisons,
        agree=agrees(spec, k),
        checked=f"all queries with FAISS up to ties; {CHECKED_QUERIES} with a NumPy scan, ties too",
    )


def contest(case: Case) -> tuple[Spec, int, dict[str, timing.Contender]]:
    """The data of a case, k, and the calls of rankhash and of both modes of FAISS."""
    spec, k = Spec.of(case.params), case.params["k"]
    p = problem(spec)
    ours = partial(p.index.search, p.queries, k, n_threads=1)
    return spec, k, {"ours": ours, **dict(faiss_peers.same_answer(spec).contenders("faiss", k))}


def agrees(spec: Spec, k: int) -> bool:
    """Whether FAISS finds the same, and a few queries are exactly what a NumPy scan gives."""
    p, faiss = problem(spec), faiss_peers.same_answer(spec)
    ours = p.index.search(p.queries, k, n_threads=1)
    for use_heap in (True, False):
        distances, ids = faiss.search(k, use_heap=use_heap)
        if not answers.same_up_to_ties(ours, ids, distances, faiss.scale):
            return False
    symbols = p.layout.unpack(p.queries[:CHECKED_QUERIES])
    tables = [answers.equal_symbols_table(row, p.layout.arity) for row in symbols]
    return answers.tables_agree(p.layout, p.codes, ours, tables)

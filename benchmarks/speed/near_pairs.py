"""All pairs of codes within a radius, compared with a FAISS range search and a BK-tree of all codes.

The peers would take hours: they search a few of the codes, and their times are multiplied to all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import faiss
import numpy as np
import pybktree
from numpy.typing import NDArray

from harness.codes import Codes, draw_codes
from harness.comparison import Case, Comparison, Outcome, Suite, at_least, at_most, case
from harness.results import Row
from harness.running import Run
from harness.timing import CLOCKS, Samples
from rankhash import CodeLayout, near_pairs

BITS = 64
PLANTED = 0.01
Hits = set[tuple[int, int]]

SUITE = Suite(
    defaults={
        "n": 1_000_000,
        "data": "random",
        "radius": 3,
        "n_faiss": 256,
        "n_tree": 100,
        "n_threads": 1,
        "repeats": 3,
    },
    quick={"n": 20_000, "n_faiss": 64, "n_tree": 20, "repeats": 1},
    cases=(
        case(
            "1M codes of 64 bits, 1 % of them near-copies, radius 3",
            {"faiss": at_least(20), "tree": at_least(50)},
        ),
        case("200,000 clustered codes of 64 bits, radius 3: many pairs", n=200_000, data="clustered", n_tree=0),
        case(
            "10M codes of 64 bits, 1 % of them near-copies, radius 3, two threads",
            {"faiss": at_least(20), "goal": at_most(1)},
            n=10_000_000,
            n_faiss=64,
            n_tree=0,
            n_threads=2,
            repeats=2,
            goal_seconds=60.0,
        ),
    ),
)


def rows(run: Run) -> Iterator[Row]:
    """One row per case."""
    return SUITE.rows(run, measure)


def measure(case: Case) -> Outcome:
    """All pairs by us; some codes against all others by the peers, whose hits must be ours."""
    p = case.params
    codes = make_codes(p["n"], p["data"])
    samples: Samples = {clock: {} for clock in CLOCKS}
    found: list[Any] = []
    for _ in range(p["repeats"]):
        found = [_timed("ours", samples, lambda: near_pairs(codes, p["radius"], n_threads=p["n_threads"]).to_arrays())]
    pairs = found[0]
    comparisons, agree = [], True
    peers = {
        "faiss": (_faiss_search, p["n_faiss"], "FAISS range_search"),
        "tree": (_tree_search, p["n_tree"], "pybktree"),
    }
    for name, (prepare, n_queries, title) in peers.items():
        if not n_queries:
            continue
        chosen = np.sort(np.random.default_rng(1).choice(len(codes), n_queries, replace=False))
        search = prepare(codes, chosen, p["radius"])
        hits = _timed(name, samples, search, times=len(codes) / n_queries / p["n_threads"])
        agree &= hits == _hits_of(pairs, chosen)
        shared = f", shared by {p['n_threads']} threads" if p["n_threads"] > 1 else ""
        comparisons.append(Comparison(name, f"{title}, from {n_queries} of the codes{shared}", show_variant=False))
    if "goal_seconds" in p:
        for clock in samples:
            samples[clock]["goal"] = [p["goal_seconds"]]
        comparisons.append(Comparison("goal", "the goal", kind="cost", show_variant=False))
    return Outcome(
        unit="s",
        scale=1.0,
        clock="wall" if p["n_threads"] > 1 else "process",
        samples=samples,
        comparisons=comparisons,
        agree=agree,
        checked="what the peers find for their codes is what our pairs say",
        extra={"n_pairs": len(pairs.first)},
    )


def make_codes(n: int, kind: str) -> Codes:
    """Codes; random ones get near-copies, at most three bits away."""
    codes = draw_codes(CodeLayout(BITS, 2), n, kind=kind, stream=0)
    if kind == "random":
        rng = np.random.default_rng(7)
        n_copies = int(PLANTED * n)
        bits = np.unpackbits(codes[rng.choice(n // 2, n_copies, replace=False)], axis=1)
        for _ in range(3):
            bits[np.arange(n_copies), rng.integers(0, BITS, n_copies)] ^= 1
        codes[n // 2 : n // 2 + n_copies] = np.packbits(bits, axis=1)
    return codes


def _timed(name: str, samples: Samples, call: Callable[[], Any], times: float = 1.0) -> Any:
    before = {clock: read() for clock, read in CLOCKS.items()}
    answer = call()
    for clock, read in CLOCKS.items():
        samples[clock].setdefault(name, []).append((read() - before[clock]) * times)
    return answer


def _faiss_search(codes: Codes, chosen: NDArray[np.int64], radius: int) -> Callable[[], Hits]:
    faiss.omp_set_num_threads(1)
    index = faiss.IndexBinaryFlat(BITS)
    index.add(codes)

    def search() -> Hits:
        offsets, _, ids = index.range_search(codes[chosen], radius + 1)  # distances below
        return set(zip(np.repeat(chosen, np.diff(offsets.astype(np.int64))).tolist(), ids.tolist(), strict=True))

    return search


def _tree_search(codes: Codes, chosen: NDArray[np.int64], radius: int) -> Callable[[], Hits]:
    values = codes.view("<u8").ravel().tolist()
    places: dict[int, list[int]] = {}
    for place, value in enumerate(values):
        places.setdefault(value, []).append(place)
    start = time.perf_counter()
    tree = pybktree.BKTree(lambda a, b: (a ^ b).bit_count(), places)
    print(f"the BK-tree took {time.perf_counter() - start:.0f} s to build, which is not counted", flush=True)

    def search() -> Hits:
        queries = [(int(place), values[place]) for place in chosen]
        return {(q, i) for q, value in queries for _, found in tree.find(value, radius) for i in places[found]}

    return search


def _hits_of(pairs: Any, chosen: NDArray[np.int64]) -> Hits:
    """What our pairs say of the chosen codes, themselves included."""
    hits = {(int(place), int(place)) for place in chosen}
    for one, other in ((pairs.first, pairs.second), (pairs.second, pairs.first)):
        ours = np.isin(one, chosen)
        hits |= set(zip(one[ours].tolist(), other[ours].tolist(), strict=True))
    return hits

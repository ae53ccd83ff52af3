"""Memory of an index, compared with the bits of its codes."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.codes import draw_codes
from harness.comparison import Case, Comparison, Outcome, Suite, at_most, case
from harness.results import Row
from harness.running import Run
from rankhash import CodeLayout, FlatIndex

ID_BYTES = 8
BATCH = 100_000
SMALL_CHANGE = 200_000  # bytes of Python objects, and of modules loaded on the way
SUITE = Suite(
    defaults={"n": 1_000_000, "ids": "implicit", "searches": "unweighted"},
    quick={"n": 20_000},
    cases=(
        case("L=32, K=4", {"codes": at_most(1.1)}, n_symbols=32, arity=4),
        case("L=64, K=2", {"codes": at_most(1.1)}, n_symbols=64, arity=2),
        case("L=16, K=16", {"codes": at_most(1.1)}, n_symbols=16, arity=16),
        case("L=32, K=16", {"codes": at_most(1.1)}, n_symbols=32, arity=16),
        case("L=20, K=3", {"codes": at_most(1.1)}, n_symbols=20, arity=3),
        case("L=13, K=8", {"codes": at_most(1.1)}, n_symbols=13, arity=8),
        case("L=7, K=5", {"codes": at_most(1.1)}, n_symbols=7, arity=5),
        case("L=128, K=2", {"codes": at_most(1.1)}, n_symbols=128, arity=2),
        case(
            "L=32, K=4, explicit ids (their 8 bytes left out)",
            {"codes": at_most(1.1)},
            n_symbols=32,
            arity=4,
            ids="explicit",
        ),
        case(
            "L=20, K=3, explicit ids (their 8 bytes left out)",
            {"codes": at_most(1.1)},
            n_symbols=20,
            arity=3,
            ids="explicit",
        ),
        case("L=32, K=4, after every kind of search", n_symbols=32, arity=4, searches="all"),
        case("L=16, K=16, after every kind of search", n_symbols=16, arity=16, searches="all"),
        case("L=20, K=3, after every kind of search", n_symbols=20, arity=3, searches="all"),
        case("L=32, K=4, 100,003 codes", {"codes": at_most(1.1)}, n_symbols=32, arity=4, n=100_003),
    ),
)


def rows(run: Run) -> Iterator[Row]:
    """One row per case."""
    return SUITE.rows(run, measure)


def measure(case: Case) -> Outcome:
    """``index.nbytes`` after filling it in batches and searching, without the 8 bytes of each explicit id."""
    params = case.params
    layout = CodeLayout(params["n_symbols"], params["arity"])
    codes = draw_codes(layout, params["n"], kind="random", stream=0)
    explicit = params["ids"] == "explicit"
    tracemalloc.start()
    index = _filled(layout, codes, explicit=explicit)
    found = _search(index, codes[:1], params["searches"])
    gc.collect()
    traced, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    held = index.nbytes - (ID_BYTES * len(codes) if explicit else 0)
    return Outcome(
        unit="bytes per code",
        scale=1 / len(codes),
        clock="bytes",
        samples={"bytes": {"ours": [held], "codes": [len(codes) * layout.bits / 8]}},
        comparisons=[Comparison("codes", "n·bits/8", kind="cost")],
        agree=found == _name_of(0, explicit=explicit) and traced <= index.nbytes + SMALL_CHANGE,
        checked="the first code is its own nearest; Python and NumPy hold no more than nbytes says",
        extra={"nbytes": index.nbytes, "traced_by_python": traced},
    )


def _filled(layout: CodeLayout, codes: NDArray[np.uint8], *, explicit: bool) -> FlatIndex:
    index = FlatIndex(layout)
    for start in range(0, len(codes), BATCH):
        batch = codes[start : start + BATCH]
        names = _name_of(np.arange(start, start + len(batch)), explicit=True) if explicit else None
        index.add(batch, ids=names)
    return index


def _name_of(position: Any, *, explicit: bool) -> Any:
    """Explicit ids fall and leave gaps, so that no index can guess them."""
    return (1 << 40) - 7919 * position if explicit else position


def _search(index: FlatIndex, query: NDArray[np.uint8], searches: str) -> int:
    """The id nearest to ``query``, after every kind of search that the case names."""
    found = int(index.search(query, 1, n_threads=1).ids[0, 0])
    if searches == "all":
        layout = index.layout
        index.search(query, 1, weights=np.ones(layout.n_symbols, np.float32), n_threads=1)
        index.search_scores(np.ones((1, layout.n_symbols, layout.arity), np.float32), 1, n_threads=1)
    return found

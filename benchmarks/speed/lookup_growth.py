"""How the time of a query grows with the number of codes: hash tables and scan, single queries and batches."""

from __future__ import annotations

from collections.abc import Iterator

from harness.comparison import Case
from harness.results import Row
from harness.running import Run
from speed._lookup_searches import nearest

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
QUICK_SIZES = (2000, 4000)
SHAPES = {"K=2": (64, 2), "K=4": (32, 4)}
BATCH = 100


def rows(run: Run) -> Iterator[Row]:
    """Mean seconds per query of both indexes over clustered codes of 64 bits, k = 10."""
    sizes, repeats = (QUICK_SIZES, 2) if run.quick else (SIZES, 7)
    keys = ({"shape": s, "n": n, "together": t} for s in SHAPES for n in sizes for t in (False, True))
    for key in run.wanted(keys):
        n_symbols, arity = SHAPES[key["shape"]]
        params = {"n_symbols": n_symbols, "arity": arity, "n": key["n"], "n_queries": 4000, "data": "clustered"}
        params |= {"k": 10, "compare": "speedup", "together": key["together"], "batch": BATCH, "repeats": repeats}
        params |= {"busy": False, "microseconds": 0}
        outcome = nearest(Case("", params), run.data)
        samples = {name: [t / BATCH for t in times] for name, times in outcome.samples["thread"].items()}
        yield Row(key, {"agree": outcome.agree, "samples": samples})

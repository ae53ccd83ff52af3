"""Full orders of pivots, compared by Spearman's footrule: what PermutationCodes keep the first places of.

By the paper's protocol: ten random splits, pivots are random training vectors. An order of m pivots is stored as m
places; log2(m!) bits would do. Average precision is that of all pairs, with one point per distance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist

from harness.results import Row
from harness.running import Run
from harness.sets import load, paper_split
from rankhash import _ranking
from rankhash._types import F32, I64
from rankhash.evaluation import Split

SETS = ("mnist", "cifar10-gist")
SEEDS = range(100, 110)
N_PIVOTS = (8, 16, 32, 64)


def rows(run: Run) -> Iterator[Row]:
    """One row per set, split and number of pivots; a quick run has one split of the digits."""
    sets, seeds = (("digits",), SEEDS[:1]) if run.quick else (SETS, SEEDS)
    keys = (
        {"set": name, "seed": seed, "n_pivots": n_pivots} for name in sets for seed in seeds for n_pivots in N_PIVOTS
    )
    for key in run.wanted(keys):
        data = _split(run.data, key["set"], key["seed"])
        pivots = data.train[np.random.default_rng(key["seed"]).permutation(len(data.train))[: key["n_pivots"]]]
        distances = footrule(places(data.queries, pivots), places(data.database, pivots))
        relevant = data.truth.block(slice(0, len(data.queries)), slice(0, len(data.database)))
        bits = math.lgamma(key["n_pivots"] + 1) / math.log(2)
        yield Row(key, {"bits": round(bits, 1), "ap": round(_ranking.average_precision(distances, relevant), 5)})


def places(vectors: F32, pivots: F32) -> I64:
    """The place ``(n, n_pivots)`` of each pivot in the order of distance from each vector, 0 for the nearest."""
    order = np.argsort(cdist(vectors, pivots), axis=1, kind="stable")
    return np.argsort(order, axis=1, kind="stable").astype(np.int64)


def footrule(queries: I64, database: I64) -> I64:
    """Spearman's footrule ``(n_queries, n)``: the sum of the differences of places."""
    sums: I64 = cdist(queries, database, "cityblock").astype(np.int64)
    return sums


@lru_cache(maxsize=1)
def _split(folder: Path, name: str, seed: int) -> Split:
    data = load(folder, name)
    return paper_split(data, seed, n_queries=min(3000, len(data.vectors) - 1000))

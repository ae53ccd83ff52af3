"""Whether RSH beats WTA and SRSH beats RSH beyond the paper's protocol: average precision over sets and truths.

Library defaults; 1000 training vectors (two thirds of a small set), which are also the database, and up to 1000
queries. Truths:

========  ==================================================  ==============================================
truth     vectors                                             learned from
========  ==================================================  ==============================================
paper     of unit length, then reduced to 40 dimensions       their neighbours before the reduction, given
reduced   the same                                            nothing given: the vectors alone
raw       as they are                                         nothing given: the vectors alone
classes   as they are                                         classes, which are the truth
========  ==================================================  ==============================================

The truth of the first three is the neighbourhood before any reduction.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import FILES, class_split, load, paper_split, raw_split
from rankhash import RSH, SRSH, WTA
from rankhash.datasets import Dataset
from rankhash.evaluation import Split, count_codes

LENGTHS = (8, 16, 32, 64)
SEEDS = range(300, 303)
SYNTHETIC = ("clusters", "low rank", "gaussian")
SETS = (*FILES, "digits", *SYNTHETIC)
TRUTHS = ("paper", "reduced", "raw", "classes")
METHODS = {"WTA": WTA, "RSH": RSH, "SRSH": SRSH}
WITHOUT_CLASSES = ("glove", "sift", "low rank", "gaussian")


def rows(run: Run) -> Iterator[Row]:
    """One row per set, truth, split and number of symbols; a quick run has one split of the synthetic sets."""
    sets, seeds = (SYNTHETIC, SEEDS[:1]) if run.quick else (SETS, SEEDS)
    keys = (
        {"set": name, "truth": truth, "seed": seed, "n_symbols": n_symbols}
        for name in sets
        for truth in TRUTHS
        if truth != "classes" or name not in WITHOUT_CLASSES
        for seed in seeds
        for n_symbols in LENGTHS
    )
    for key in run.wanted(keys):
        data = _split(run.data, key["set"], key["truth"], key["seed"])
        yield Row(key, scores(data, key["truth"], key["seed"], key["n_symbols"]))


def scores(data: Split, truth: str, seed: int, n_symbols: int) -> Facts:
    """The average precision of each method."""
    known = {"y": data.y, "similarity": data.similarity} if truth in ("paper", "classes") else {}
    found = {}
    for method, kind in METHODS.items():
        hasher = kind(n_symbols, random_state=seed).fit(data.train, **known)
        counts = count_codes(hasher.encode(data.queries), hasher.encode(data.train), hasher.layout_, data.truth)
        found[method] = counts.average_precision()
    values: Facts = {"scores": found}
    return values | ({"still_close": still_close(data)} if (truth, n_symbols) == ("reduced", LENGTHS[0]) else {})


def still_close(data: Split) -> float:
    """The share of the closest pairs of the reduced training vectors that are neighbours before the reduction."""
    assert data.similarity is not None
    first, second = np.triu_indices(len(data.train), 1)
    neighbors = data.similarity[first, second]
    apart = ((data.train[first] - data.train[second]) ** 2).sum(axis=1)
    return float(neighbors[np.argsort(apart)[: neighbors.sum()]].mean())


@lru_cache(maxsize=1)
def _split(folder: Path, name: str, truth: str, seed: int) -> Split:
    data = _synthetic(name, seed) if name in SYNTHETIC else load(folder, name)
    n_train = min(1000, len(data.vectors) * 2 // 3)
    n_queries = min(1000, len(data.vectors) - n_train)
    if truth == "classes":
        return class_split(data, seed, n_train, n_queries)
    return (raw_split if truth == "raw" else paper_split)(data, seed, n_train, n_queries)


def _synthetic(name: str, seed: int) -> Dataset:
    """2000 vectors: Gaussian, of low rank with noise, or in 30 clusters."""
    rng, n = np.random.default_rng(seed), 2000
    if name == "gaussian":
        return Dataset(name, rng.standard_normal((n, 16)))
    if name == "low rank":
        inner = rng.standard_normal((n, 10)) * np.linspace(1, 0.3, 10)
        return Dataset(name, inner @ rng.standard_normal((10, 64)) + 0.05 * rng.standard_normal((n, 64)))
    group = rng.integers(0, 30, n)
    return Dataset(name, rng.standard_normal((30, 32))[group] + 0.6 * rng.standard_normal((n, 32)), group)

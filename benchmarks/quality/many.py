"""How good codes are that are learned from many vectors without labels.

Training vectors, database and queries all differ; queries of SIFT are of photographs that are left out. Vectors are
taken as they are, hashers with their defaults. Similar to a query are the vectors of the database within one distance,
which gives a query 50 on average.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import N_NEIGHBORS, load, photographs
from rankhash import ITQ, JRSH, MLH, Hasher
from rankhash._types import F32, Flags
from rankhash.evaluation import metrics
from rankhash.evaluation.measure import symbol_distances
from rankhash.evaluation.truth import euclidean

SPLITS = (
    *((name, 1) for name in ("mnist", "cifar10-gist", "glove", "sift", "trivia-text")),
    ("sift", 0),
)
"""Sets and the seeds of their splits."""

BITS = (16, 32, 64)
N_TRAIN, N_DATABASE, N_QUERIES = 10_000, 20_000, 1000
N_NEAREST, DEPTH, RADIUS = 10, 100, 2
METHODS: dict[str, Callable[[int], Hasher]] = {
    "JRSH": lambda bits: JRSH(bits, random_state=0),
    "JRSH radius 2": lambda bits: JRSH(bits, target="radius", random_state=0),
    "ITQ": lambda bits: ITQ(bits, random_state=0),
    "MLH": lambda bits: MLH(bits, random_state=0),
}


@dataclass(frozen=True)
class Problem:
    """Three disjoint sets of vectors, and which of the database are similar and nearest to each query."""

    train: F32
    database: F32
    queries: F32
    similar: Flags
    nearest: Flags


def rows(run: Run) -> Iterator[Row]:
    """One row per split, number of bits and method; a quick run has the digits only."""
    splits, lengths = ((("digits", 1),), BITS[:1]) if run.quick else (SPLITS, BITS)
    keys = (
        {"set": name, "bits": bits, "method": method, "seed": seed}
        for name, seed in splits
        for bits in lengths
        for method in METHODS
    )
    for key in run.wanted(keys):
        yield Row(key, measure(divided(run.data, key["set"], key["seed"]), METHODS[key["method"]](key["bits"])))


@lru_cache(maxsize=1)
def divided(folder: Path, name: str, seed: int) -> Problem:
    """A random split of a set; of a small set, half of the vectors are training vectors."""
    X = load(folder, name).vectors.astype(np.float32)
    rng = np.random.default_rng(seed)
    n_queries = min(N_QUERIES, len(X) // 8)
    held = _left_out(folder, rng) if name == "sift" else rng.permutation(len(X)) < n_queries
    queries = rng.permutation(np.flatnonzero(held))[:n_queries]
    rest = rng.permutation(np.flatnonzero(~held))
    n_train = min(N_TRAIN, len(rest) // 2)
    database = rest[n_train : n_train + N_DATABASE]
    similar, nearest = truth(X[database], X[queries])
    return Problem(X[rest[:n_train]], X[database], X[queries], similar, nearest)


def _left_out(folder: Path, rng: np.random.Generator) -> Flags:
    """Which descriptors belong to a random twelfth of the photographs."""
    images = photographs(folder)
    names = rng.permutation(np.unique(images))
    return np.isin(images, names[: len(names) // 12])


def truth(database: F32, queries: F32) -> tuple[Flags, Flags]:
    """Which vectors ``(n_queries, n)`` are within the distance, and which are the nearest of their query."""
    apart = euclidean(queries.astype(np.float64), database.astype(np.float64))
    wanted = N_NEIGHBORS * len(queries) - 1
    similar = apart <= np.partition(apart, wanted, axis=None)[wanted]
    nearest = np.zeros(apart.shape, bool)
    np.put_along_axis(nearest, np.argpartition(apart, N_NEAREST, axis=1)[:, :N_NEAREST], values=True, axis=1)
    return similar, nearest


def measure(problem: Problem, hasher: Hasher) -> Facts:
    """The quality of a hasher's codes on one thread, and the CPU seconds of the fit."""
    start = time.thread_time()
    hasher.fit(problem.train)
    seconds = time.thread_time() - start
    found = symbol_distances(hasher.transform(problem.queries), hasher.transform(problem.database))
    return {
        "pairs": round(metrics.average_precision(found, problem.similar), 5),
        "queries": round(metrics.mean_average_precision(found, problem.similar), 5),
        "recall": round(metrics.mean(metrics.recall_at(found, problem.nearest, DEPTH)), 5),
        "ball": round(metrics.mean(metrics.ball_precision(found, problem.similar, RADIUS)), 5),
        "thread_seconds": round(seconds, 1),
    }

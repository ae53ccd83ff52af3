"""The recall that a VectorIndex reaches on unseen queries, and the one it is asked for, on sets that chose little.

Real sets, and sets of shapes that differ from them: tight clusters, heavy tails, decaying axes, few dimensions in many,
counts, clusters of very different density, and means of several vectors as queries. Everything is left to the index;
time is CPU time of one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import process_time

import numpy as np

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import load
from rankhash import VectorIndex
from rankhash._types import F32, F64

K, N_QUERIES, RECALLS = 10, 500, (0.9, 0.95, 0.99)
REAL = {"mnist": "euclidean", "cifar10-gist": "cosine"}


def rows(run: Run) -> Iterator[Row]:
    """One row per set; a quick run has small made sets."""
    n = 5000 if run.quick else 100_000
    names = [*MADE] if run.quick else [*REAL, *MADE]
    for key in run.wanted({"set": name} for name in names):
        name = key["set"]
        rng = np.random.default_rng(5)
        if name in REAL:
            vectors, metric = load(run.data, name).vectors.astype(np.float32), REAL[name]
            vectors = vectors[rng.permutation(len(vectors))]
        else:
            make, metric = MADE[name]
            vectors = make(rng, n + N_QUERIES).astype(np.float32)
        yield Row(key, measured(vectors[:-N_QUERIES], vectors[-N_QUERIES:], metric))


def measured(base: F32, queries: F32, metric: str) -> Facts:
    """What an index finds of the true neighbours, ties included, and µs per query in a batch."""
    start = process_time()
    index = VectorIndex(metric, random_state=0, verbose=False)
    index.add(base)
    built = process_time() - start
    truth = index.search(queries, K, exact=True).distances[:, -1:]
    facts: Facts = {"n": len(base), "d": base.shape[1], "metric": metric, "build_cpu_s": round(built, 1)}
    facts["chosen"] = index.describe()
    for asked in RECALLS:
        found = index.search(queries, K, recall=asked, n_threads=1).distances
        start = process_time()
        index.search(queries, K, recall=asked, n_threads=1)
        facts[f"us_{asked}"] = round(1e6 * (process_time() - start) / len(queries), 1)
        facts[f"recall_{asked}"] = round(float((found <= truth + 1e-5 * np.abs(truth)).mean()), 4)
    return facts


def tight_clusters(rng: np.random.Generator, n: int) -> F64:
    """Clusters of a hundredth of the deviation of their centres."""
    centres = 10 * rng.normal(size=(n // 33, 64))
    made: F64 = centres[rng.integers(0, len(centres), n)] + 0.3 * rng.normal(size=(n, 64))
    return made


def heavy_tails(rng: np.random.Generator, n: int) -> F64:
    """Student's t with two degrees of freedom."""
    made: F64 = rng.standard_t(2, size=(n, 48))
    return made


def decaying_axes(rng: np.random.Generator, n: int) -> F64:
    """Normal numbers whose deviation falls from 1 to 0.01."""
    made: F64 = rng.normal(size=(n, 200)) * np.logspace(0, -2, 200)
    return made


def few_in_many(rng: np.random.Generator, n: int) -> F64:
    """16 dimensions, turned into 256, with a little noise."""
    made: F64 = rng.normal(size=(n, 16)) @ rng.normal(size=(16, 256)) + 0.05 * rng.normal(size=(n, 256))
    return made


def counts(rng: np.random.Generator, n: int) -> F64:
    """Poisson counts, mostly 0."""
    made: F64 = rng.poisson(0.3, size=(n, 100)).astype(np.float64)
    return made


def densities(rng: np.random.Generator, n: int) -> F64:
    """Clusters of lognormal widths."""
    widths, centres, own = 5 * rng.lognormal(size=400), 20 * rng.normal(size=(400, 48)), rng.integers(0, 400, n)
    made: F64 = centres[own] + widths[own, None] * rng.normal(size=(n, 48))
    return made


def with_means(rng: np.random.Generator, n: int, n_means: int) -> F64:
    """400 clusters, and as queries, which come last, means of ``n_means`` vectors of any of them."""
    made: F64 = (1.5 * rng.normal(size=(400, 32)))[rng.integers(0, 400, n)] + rng.normal(size=(n, 32))
    made[-N_QUERIES:] = made[rng.integers(0, n - N_QUERIES, (N_QUERIES, n_means))].mean(axis=1)
    return made


MADE: dict[str, tuple[Callable[[np.random.Generator, int], F64], str]] = {
    "tight clusters": (tight_clusters, "euclidean"),
    "heavy tails": (heavy_tails, "euclidean"),
    "decaying axes": (decaying_axes, "dot"),
    "16 dimensions in 256": (few_in_many, "cosine"),
    "counts": (counts, "euclidean"),
    "densities": (densities, "euclidean"),
    "means of two": (partial(with_means, n_means=2), "euclidean"),
    "means of eight": (partial(with_means, n_means=8), "euclidean"),
}

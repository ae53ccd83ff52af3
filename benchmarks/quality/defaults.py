"""Whether JRSH without any setting is better than ITQ of as many bits, on sets of very different kinds.

Vectors are taken as they are. Training vectors are also the database; queries are other vectors. Constants were chosen
on CHOSEN and confirmed on the others. Values are those of ``quality/many``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from harness.results import Row
from harness.running import Run
from harness.sets import load
from quality.many import Problem, measure, truth
from rankhash import ITQ, JRSH, Hasher
from rankhash._types import F32

CHOSEN = ("glove", "sentences", "mnist", "sift", "clusters", "few axes")
CONFIRMED = (
    "cifar10-gist",
    "trivia-text",
    "digits",
    "isotropic",
    "heavy tails",
    "copies",
    "sparse counts",
    "integers",
)

SIZES = (1000, 10_000, 60_000)
"""Training vectors; of a smaller set, all but the queries."""

BYTES = (8, 16, 32)
N_QUERIES, N_DIMENSIONS = 500, 64
METHODS: dict[str, Callable[[int], Hasher]] = {
    "ITQ": lambda n_bytes: ITQ(n_bytes=n_bytes, random_state=0),
    "JRSH": lambda n_bytes: JRSH(n_bytes=n_bytes, random_state=0),
}


def rows(run: Run) -> Iterator[Row]:
    """One row per set, size, number of bytes and method; a quick run has the digits only."""
    sets, sizes = (("digits",), SIZES[:1]) if run.quick else ((*CHOSEN, *CONFIRMED), SIZES)
    keys = (
        {"set": name, "n": n, "bytes": n_bytes, "method": method}
        for n in sizes
        for name in sets
        for n_bytes in (BYTES[:1] if run.quick else BYTES)
        for method in METHODS
    )
    for key in run.wanted(keys):
        yield Row(key, measure(_problem(run.data, key["set"], key["n"]), METHODS[key["method"]](key["bytes"])))


@lru_cache(maxsize=1)
def _problem(folder: Path, name: str, n: int) -> Problem:
    """``n`` training vectors, which are also the database, and 500 other vectors as queries."""
    rng = np.random.default_rng(0)
    X = MADE[name](n + N_QUERIES, rng) if name in MADE else load(folder, name).vectors.astype(np.float32)
    order = rng.permutation(len(X))
    queries, train = X[order[:N_QUERIES]], X[order[N_QUERIES : N_QUERIES + n]]
    return Problem(train, train, queries, *truth(train, queries))


def _clusters(n: int, rng: np.random.Generator) -> F32:
    """200 clusters of Zipf sizes, whose densities differ by powers of ten."""
    weights = 1 / np.arange(1, 201)
    of = rng.choice(200, n, p=weights / weights.sum())
    spread = 10 ** rng.uniform(-2, 0, 200)
    return _float32(rng.normal(size=(200, N_DIMENSIONS))[of] + rng.normal(size=(n, N_DIMENSIONS)) * spread[of, None])


def _few_axes(n: int, rng: np.random.Generator) -> F32:
    """4 directions with 100 times the deviation of the other 60, rotated."""
    turn = np.linalg.qr(rng.normal(size=(N_DIMENSIONS, N_DIMENSIONS)))[0]
    return _float32(rng.normal(size=(n, N_DIMENSIONS)) * np.repeat([100.0, 1.0], [4, N_DIMENSIONS - 4]) @ turn)


def _copies(n: int, rng: np.random.Generator) -> F32:
    """Every vector ten times, on average."""
    return _float32(rng.normal(size=(n // 10, N_DIMENSIONS))[rng.integers(0, n // 10, n)])


def _counts(n: int, rng: np.random.Generator) -> F32:
    """Word counts of documents with few topics; most are 0."""
    topics = rng.dirichlet(np.full(300, 0.05), 40)
    return _float32(rng.poisson(rng.dirichlet(np.full(40, 0.1), n) @ topics * rng.lognormal(4, 0.5, (n, 1))))


def _float32(array: np.ndarray) -> F32:
    return array.astype(np.float32)


MADE: dict[str, Callable[[int, np.random.Generator], F32]] = {
    "clusters": _clusters,
    "few axes": _few_axes,
    "isotropic": lambda n, rng: _float32(rng.normal(size=(n, N_DIMENSIONS))),
    "heavy tails": lambda n, rng: _float32(rng.standard_t(2, (n, N_DIMENSIONS))),
    "copies": _copies,
    "sparse counts": _counts,
    "integers": lambda n, rng: _float32(rng.binomial(4, rng.beta(0.5, 0.5, (1, N_DIMENSIONS)), (n, N_DIMENSIONS))),
}
"""Sets that are drawn at random, by name."""

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
    "fashion_mnist",
    "power spectrum",
    "nested clusters",
    "near copies",
    "curves",
    "table columns",
    "sparse bits",
    "histograms",
)

SIZES = (1000, 10_000, 100_000)
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


def _power(n: int, rng: np.random.Generator) -> F32:
    """The deviation along the k-th of 128 axes is 1 / √k."""
    turn = np.linalg.qr(rng.normal(size=(128, 128)))[0]
    return _float32(rng.normal(size=(n, 128)) / np.sqrt(np.arange(1, 129)) @ turn)


def _nested(n: int, rng: np.random.Generator) -> F32:
    """20 clusters of 20 clusters of 20 clusters."""
    of = rng.integers(0, 8000, n)
    wide, middle, narrow = (
        rng.normal(size=(n_centres, N_DIMENSIONS)) * spread for n_centres, spread in ((20, 3), (400, 1), (8000, 0.3))
    )
    return _float32(wide[of // 400] + middle[of // 20] + narrow[of] + 0.1 * rng.normal(size=(n, N_DIMENSIONS)))


def _near_copies(n: int, rng: np.random.Generator) -> F32:
    """Every vector fifty times, on average, with a little noise."""
    base = rng.normal(size=(n // 50, N_DIMENSIONS))[rng.integers(0, n // 50, n)]
    return _float32(base + 0.02 * rng.normal(size=base.shape))


def _curves(n: int, rng: np.random.Generator) -> F32:
    """120 values of a sum of 24 waves, whose heights fall with their number."""
    waves = np.arange(1, 25)
    height = rng.normal(size=(n, 24)) / waves**1.5
    angle = 2 * np.pi * waves[:, None] * np.linspace(0, 1, 120)
    shift = rng.uniform(0, 2 * np.pi, (n, 24))
    return _float32((height * np.cos(shift)) @ np.sin(angle) + (height * np.sin(shift)) @ np.cos(angle))


def _columns(n: int, rng: np.random.Generator) -> F32:
    """30 columns of a table with 5 causes: one in thousands with a heavy tail, one of integers, six of 0 and 1."""
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, 30)) + 0.5 * rng.normal(size=(n, 30))
    X[:, 0], X[:, 1], X[:, 2:8] = 1000 * np.exp(X[:, 0]), np.round(10 * X[:, 1]), X[:, 2:8] > 0
    return _float32(X)


def _bits(n: int, rng: np.random.Generator) -> F32:
    """500 columns of 0 and 1, most of them 0, some columns more often 1 than others."""
    return _float32(rng.random((n, 500)) < 0.02 * rng.lognormal(0, 1, 500))


def _histograms(n: int, rng: np.random.Generator) -> F32:
    """Histograms of 128 bins, of which few are large, as integers up to 255."""
    X = rng.gamma(0.3, 1, (n, 128))
    return _float32(np.round(255 * X / X.sum(axis=1, keepdims=True)))


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
    "power spectrum": _power,
    "nested clusters": _nested,
    "near copies": _near_copies,
    "curves": _curves,
    "table columns": _columns,
    "sparse bits": _bits,
    "histograms": _histograms,
}
"""Sets that are drawn at random, by name."""

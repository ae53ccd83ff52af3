"""How well the comparison methods find vectors of the same class.

CIFAR-10 Gist: 1000 queries, 100 of each class; all others are the database; 5000 of these, 500 of each class, are
learned from ("all labels": the whole database). MNIST: the 60 000 training images are learned from, 20 000 of them are
the database; 2000 test images are queries ("unseen database": 6000 other test images instead). Vectors are scaled to
unit length. Methods that take classes get them;
library defaults. ``map`` is the mean over queries of the average precision of the whole ranking by Hamming distance
(BSSC: weighted); ties count as their average over all orders.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import load
from rankhash import BRE, BSSC, ITQ, JRSH, KSH, LSH, MLH, SDH, SPLH, Hasher, SpectralHashing
from rankhash._types import F32, Array
from rankhash.evaluation import metrics
from rankhash.evaluation.measure import symbol_distances

BITS = (16, 32, 64)
SEEDS = (100, 101, 102)
BLOCK = 250

METHODS: dict[str, Callable[[int, int], Hasher]] = {
    "LSH": lambda bits, seed: LSH(bits, center=True, random_state=seed),
    "SpectralHashing": lambda bits, seed: SpectralHashing(bits, random_state=seed),
    "ITQ": lambda bits, seed: ITQ(bits, random_state=seed),
    "BRE": lambda bits, seed: BRE(bits, random_state=seed),
    "SPLH": lambda bits, seed: SPLH(bits, random_state=seed),
    "BSSC": lambda bits, seed: BSSC(bits, random_state=seed),
    "MLH": lambda bits, seed: MLH(bits, random_state=seed),
    "KSH": lambda bits, seed: KSH(bits, random_state=seed),
    "KSH, 1000 labels": lambda bits, seed: KSH(bits, max_points=1000, random_state=seed),
    "SDH": lambda bits, seed: SDH(bits, random_state=seed),
    "JRSH": lambda bits, seed: JRSH(n_bits=bits, features="linear", random_state=seed),
    "JRSH, rbf": lambda bits, seed: JRSH(n_bits=bits, random_state=seed),
}


@dataclass(frozen=True)
class Labelled:
    """Training vectors, database and queries, each with classes."""

    train: tuple[F32, Array]
    database: tuple[F32, Array]
    queries: tuple[F32, Array]


def rows(run: Run) -> Iterator[Row]:
    """One row per split, set, method and number of bits; a quick run has the digits only."""
    sets, lengths = (("digits",), BITS[:1]) if run.quick else (tuple(SETS), BITS)
    keys = (
        {"set": name, "method": method, "bits": bits, "seed": seed}
        for seed in (SEEDS[:1] if run.quick else SEEDS)
        for name in sets
        for method in METHODS
        for bits in lengths
    )
    for key in run.wanted(keys):
        hasher = METHODS[key["method"]](key["bits"], key["seed"])
        yield Row(key, measure(hasher, _labelled(run.data, key["set"], key["seed"])))


def measure(hasher: Hasher, data: Labelled) -> Facts:
    """CPU seconds of the fit, and the mean average precision."""
    start = time.thread_time()
    hasher.fit(*data.train)
    seconds = time.thread_time() - start
    return {"fit_cpu_seconds": round(seconds, 3), "map": round(mean_average_precision(hasher, data), 5)}


def mean_average_precision(hasher: Hasher, data: Labelled) -> float:
    """The mean over queries of the average precision among the database, ties averaged."""
    (database, own), (queries, wanted) = data.database, data.queries
    codes, weights = hasher.transform(database), getattr(hasher, "weights_", None)
    values = []
    for start in range(0, len(queries), BLOCK):
        rows = slice(start, start + BLOCK)
        apart = symbol_distances(hasher.transform(queries[rows]), codes, weights)
        values.append(metrics.query_average_precision(apart, wanted[rows, None] == own))
    return metrics.mean(np.concatenate(values))


@lru_cache(maxsize=1)
def _labelled(folder: Path, name: str, seed: int) -> Labelled:
    return digits(folder, seed) if name == "digits" else SETS[name](folder, seed)


def digits(folder: Path, seed: int) -> Labelled:
    """1000 digits that are learned from and searched, and 100 queries."""
    X, y = _unit(folder, "digits")
    train, queries = np.split(np.random.default_rng(seed).permutation(len(X))[:1100], [1000])
    return Labelled((X[train], y[train]), (X[train], y[train]), (X[queries], y[queries]))


def cifar(folder: Path, seed: int) -> Labelled:
    """CIFAR-10 Gist with 5000 labels."""
    X, y = _unit(folder, "cifar10-gist")
    order = np.random.default_rng(seed).permutation(len(X))
    rank = np.empty(len(X), int)  # the place of a vector among those of its class, in random order
    for label in np.unique(y):
        members = order[y[order] == label]
        rank[members] = np.arange(len(members))
    queries, train = rank < 100, (rank >= 100) & (rank < 600)
    return Labelled((X[train], y[train]), (X[~queries], y[~queries]), (X[queries], y[queries]))


def cifar_all(folder: Path, seed: int) -> Labelled:
    """CIFAR-10 Gist with the labels of the whole database."""
    data = cifar(folder, seed)
    return replace(data, train=data.database)


def mnist(folder: Path, seed: int) -> Labelled:
    """MNIST, whose database is part of the training images."""
    X, y = _unit(folder, "mnist")
    rng = np.random.default_rng(seed)
    database, queries = rng.permutation(60_000)[:20_000], 60_000 + rng.permutation(10_000)[:2000]
    return Labelled((X[:60_000], y[:60_000]), (X[database], y[database]), (X[queries], y[queries]))


def mnist_unseen(folder: Path, seed: int) -> Labelled:
    """MNIST, whose database no method has learned from."""
    X, y = _unit(folder, "mnist")
    rows = 60_000 + np.random.default_rng(seed).permutation(10_000)
    queries, database = rows[:2000], rows[2000:8000]
    return replace(mnist(folder, seed), database=(X[database], y[database]), queries=(X[queries], y[queries]))


def _unit(folder: Path, name: str) -> tuple[F32, Array]:
    data = load(folder, name)
    assert data.labels is not None
    vectors = data.vectors.astype(np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), data.labels


SETS: dict[str, Callable[[Path, int], Labelled]] = {
    "cifar10-gist": cifar,
    "cifar10-gist, all labels": cifar_all,
    "mnist": mnist,
    "mnist, unseen database": mnist_unseen,
}

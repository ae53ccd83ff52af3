"""How well JRSH and SDH find vectors of the same class if few vectors are labelled.

1000 labelled vectors are learned from. ``learned``: they are the database. ``unseen``: 3000 other vectors are (digits:
399). 1000 further vectors are queries (digits: 398). Vectors of real data are scaled to unit length. Library defaults.
Values are the mean over queries of the average precision of the whole ranking by Hamming distance; ties count
as their average over all orders. Constants were chosen on CHOSEN; CONFIRMED chose nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from harness.results import Row
from harness.running import Run
from harness.sets import load
from quality.classes import Labelled, mean_average_precision
from rankhash import JRSH, SDH, Hasher
from rankhash._types import F32, Array

CHOSEN = ("mnist", "cifar10-gist", "trivia-text")
CONFIRMED = ("digits", "fashion_mnist", "100 classes")
BITS, SEEDS = (16, 32, 64), (0, 1, 2)
N_TRAIN, N_DATABASE, MAX_QUERIES = 1000, 3000, 1000
METHODS: dict[str, Callable[[int, int], Hasher]] = {
    "JRSH": lambda bits, seed: JRSH(n_bits=bits, random_state=seed),
    "SDH": lambda bits, seed: SDH(n_bits=bits, random_state=seed),
}


def rows(run: Run) -> Iterator[Row]:
    """One row per set, method, number of bits and seed of the split; a quick run has the digits only."""
    sets, lengths, seeds = (("digits",), BITS[:1], SEEDS[:1]) if run.quick else ((*CHOSEN, *CONFIRMED), BITS, SEEDS)
    keys = (
        {"set": name, "method": method, "bits": bits, "seed": seed}
        for name in sets
        for seed in seeds
        for bits in lengths
        for method in METHODS
    )
    for key in run.wanted(keys):
        learned, unseen = _problems(run.data, key["set"], key["seed"])
        start = time.thread_time()
        hasher = METHODS[key["method"]](key["bits"], key["seed"]).fit(*learned.train)
        values = {"fit_cpu_seconds": round(time.thread_time() - start, 3)}
        for name, problem in (("learned", learned), ("unseen", unseen)):
            values[name] = round(mean_average_precision(hasher, problem), 5)
        yield Row(key, values)


@lru_cache(maxsize=1)
def _problems(folder: Path, name: str, seed: int) -> tuple[Labelled, Labelled]:
    """The two problems of a set, whose databases are the training vectors and other vectors."""
    X, y = _clusters() if name == "100 classes" else _vectors(folder, name)
    order = np.random.default_rng(seed).permutation(len(X))
    train, others = order[:N_TRAIN], order[N_TRAIN:]
    queries = others[: min(MAX_QUERIES, len(others) // 2)]
    database = others[len(queries) : len(queries) + N_DATABASE]
    parts = [(X[rows], y[rows]) for rows in (train, database, queries)]
    return Labelled(parts[0], parts[0], parts[2]), Labelled(*parts)


def _vectors(folder: Path, name: str) -> tuple[F32, Array]:
    data = load(folder, name)
    assert data.labels is not None
    vectors = data.vectors.astype(np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), np.asarray(data.labels)


def _clusters() -> tuple[F32, Array]:
    """100 classes of three Gaussian clusters each, in 20 dimensions."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 100, 12_000)
    centres = rng.normal(size=(300, 20))[3 * labels + rng.integers(0, 3, len(labels))]
    return (centres + 0.45 * rng.normal(size=centres.shape)).astype(np.float32), labels

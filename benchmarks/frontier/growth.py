"""How the time of a VectorIndex's query grows with the number of vectors: 10⁵, 10⁶ and 10⁷, mapped from disk.

Vectors are embeddings of sentences, rotated to their 96 principal directions, and copies of them with Gaussian noise of
half the mean distance to the nearest neighbour. Queries are held out. Everything runs on one thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from numpy.lib.format import open_memmap

from harness.prepared_sets import load_set
from harness.processes import in_new_process, resident_megabytes
from harness.results import Facts, Row
from harness.running import Run
from harness.sets import noisy_copies
from harness.timing import interleave
from rankhash import VectorIndex
from rankhash._types import F32

SET, D, K = "sentences100k", 96, 10
SIZES, QUICK_SIZES = (100_000, 1_000_000, 10_000_000), (2000, 4000)
N_CHECKED, ROUNDS = 200, 5
RECALLS = (0.95, 0.99)
ADDED = 1_000_000
"""Vectors that are added at a time."""


def rows(run: Run) -> Iterator[Row]:
    """One row per number of vectors."""
    name = "quick" if run.quick else SET
    for key in run.wanted({"n": n} for n in (QUICK_SIZES if run.quick else SIZES)):
        with TemporaryDirectory() as place:
            path = Path(place) / "index"
            built = in_new_process(build, run.data, name, key["n"], path, blas_threads=1)
            yield Row(key, built | searched(path, problem(run.data, name)[1]))


def problem(folder: Path, name: str) -> tuple[F32, F32]:
    """Vectors and queries in the principal directions of the vectors, at unit length."""
    data = load_set(folder, name)
    d = min(D, data.base.shape[1])
    center = data.base.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov((data.base - center)[::10].T))
    turned = [(X - center) @ axes[:, -d:].astype(np.float32) for X in (data.base, data.queries)]
    base, queries = ((X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32) for X in turned)
    return base, queries


def build(folder: Path, name: str, n: int, path: Path) -> Facts:
    """Learn, add and save; CPU seconds and memory."""
    base, _ = problem(folder, name)
    near = VectorIndex("euclidean", verbose=False)
    near.add(base)
    spread = float(near.search(base[:1000], 2, exact=True).distances[:, 1].mean()) / 2 / np.sqrt(base.shape[1])
    vectors = open_memmap(path.with_suffix(".npy"), "w+", np.float32, (n, base.shape[1]))
    start = 0
    for part in noisy_copies(base, n, spread, np.random.default_rng(0)):
        vectors[start : start + len(part)] = part
        start += len(part)
    spent = process_time()
    index = VectorIndex("euclidean", verbose=False)
    for first in range(0, n, ADDED):
        index.add(vectors[first : first + ADDED])
    spent = process_time() - spent
    held = resident_megabytes()
    index.save(path)
    path.with_suffix(".npy").unlink()
    return {"d": base.shape[1], "build_cpu_s": round(spent, 1), "build_mb": round(held)}


def searched(path: Path, queries: F32) -> Facts:
    """µs of CPU time per query in batches and alone, recall, and bytes; the vectors are mapped."""
    index = VectorIndex.load(path, mmap=True, verify=False)
    checked = queries[:N_CHECKED]
    truth = index.search(checked, K, exact=True, n_threads=1).distances[:, -1:]
    facts: Facts = {"ram_per_vector": round(index.nbytes / len(index), 2), "chosen": index.describe()}
    for recall in RECALLS:
        calls = {
            "batch": lambda recall=recall: index.search(queries, K, recall=recall, n_threads=1),
            "single": lambda recall=recall: [index.search(q[None], K, recall=recall, n_threads=1) for q in checked],
        }
        seconds = interleave(calls, ROUNDS)["process"]
        found = index.search(checked, K, recall=recall, n_threads=1).distances
        facts |= {
            f"recall_{recall}": round(float((found <= truth * (1 + 1e-6)).mean()), 5),
            f"batch_us_{recall}": round(1e6 * median(seconds["batch"]) / len(queries), 2),
            f"single_us_{recall}": round(1e6 * median(seconds["single"]) / len(checked), 2),
            f"samples_{recall}": seconds,
        }
    return facts

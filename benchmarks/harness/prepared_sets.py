"""Prepared sets of vectors, with held-out queries and their true neighbours; the README says how they are made.

::

    <folder>/<set>/set.json    metric, n, d, notes
                   base.npy    (n, d) float32; rows of cosine sets have unit length
                   queries.npy (n_queries, d)
                   truth_distances.npy (n_queries, ≥ 10): squared Euclidean distances or −q·x of the nearest, ascending
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankhash._types import F32, F64, I64

TIE = 1e-6
"""Relative difference below which two distances count as equal."""

QUICK_N, QUICK_QUERIES = 5000, 50
DEPTH = 100
"""True neighbours that are kept for each query."""


@dataclass(frozen=True)
class VectorSet:
    """Database vectors, queries, and the distances of their true neighbours."""

    name: str
    metric: str
    base: F32
    queries: F32
    truth: F64


def load_set(folder: Path, name: str) -> VectorSet:
    """The set of a folder, or the small synthetic one for the name ``quick``."""
    if name == "quick":
        return quick_set()
    place = folder / name
    if not (place / "set.json").exists():
        raise SystemExit(f"no set {name!r} in the folder of --data; benchmarks/README.md says how it is made")
    metric = json.loads((place / "set.json").read_text(encoding="utf-8"))["metric"]
    base = np.load(place / "base.npy", mmap_mode="r")
    return VectorSet(name, metric, base, *(np.load(place / f"{part}.npy") for part in ("queries", "truth_distances")))


def quick_set() -> VectorSet:
    """Clustered vectors that every machine draws alike."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((50, 16))
    X = centres[rng.integers(0, 50, QUICK_N + QUICK_QUERIES)] + 0.3 * rng.standard_normal((QUICK_N + QUICK_QUERIES, 16))
    base, queries = np.split(X.astype(np.float32), [QUICK_N])
    far = distances_of(base, queries, np.tile(np.arange(QUICK_N), (QUICK_QUERIES, 1)), "euclidean")
    return VectorSet("quick", "euclidean", base, queries, np.sort(far, axis=1)[:, :DEPTH])


def distances_of(base: F32, queries: F32, ids: I64, metric: str) -> F64:
    """The distance of each query to each of its ``ids`` ``(n_queries, k)``, in float64; negative ids are far away."""
    far = np.empty(ids.shape)
    for row, (query, found) in enumerate(zip(queries.astype(np.float64), ids, strict=True)):
        points = base[np.maximum(found, 0)].astype(np.float64)
        far[row] = ((points - query) ** 2).sum(axis=1) if metric == "euclidean" else -(points @ query)
    return np.where(ids < 0, np.inf, far)


def recall(data: VectorSet, ids: I64, k: int) -> float:
    """The share of ``k`` that are found at no larger distance than the k-th true neighbour; an id counts once."""
    limits = data.truth[: len(ids), k - 1]
    far = distances_of(data.base, data.queries[: len(ids)], ids, data.metric)
    near = far <= (limits + TIE * np.maximum(np.abs(limits), TIE))[:, None]
    hits = sum(len(np.unique(row[inside])) for row, inside in zip(ids, near, strict=True))
    return hits / (len(ids) * k)

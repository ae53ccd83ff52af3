"""A prepared set, and the ways to hold queries out of a collection of vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
Array = NDArray[Any]

N_QUERIES = 1000  # queries of the reported figures
N_TUNING = 1000  # further queries, for choosing parameters
SEED = 20251


@dataclass(frozen=True)
class VectorSet:
    """Database vectors, queries for figures and for tuning, and the metric; rows of cosine sets have unit length."""

    base: F32
    queries: F32
    tuning: F32
    metric: str
    notes: str


def make_set(base: Array, held_out: Array, metric: str, notes: str) -> VectorSet:
    """A set from database vectors and at least N_QUERIES held-out rows in random order.

    The rows after the first N_QUERIES, up to N_TUNING of them, become the tuning queries.
    """
    if len(held_out) < N_QUERIES:
        raise ValueError(f"a set needs {N_QUERIES} held-out rows, got {len(held_out)}; hold out more groups")
    ready = unit_rows if metric == "cosine" else as_rows
    queries, tuning = np.split(ready(held_out[: N_QUERIES + N_TUNING]), [N_QUERIES])
    return VectorSet(ready(base), queries, tuning, metric, notes)


def hold_out_rows(X: Array, metric: str, notes: str, n_held: int = N_QUERIES + N_TUNING) -> VectorSet:
    """Queries are ``n_held`` (default N_QUERIES + N_TUNING) random rows; the rest is the database."""
    order = np.random.default_rng(SEED).permutation(len(X))
    return make_set(X[np.sort(order[n_held:])], X[order[:n_held]], metric, notes)


def hold_out_groups(X: Array, groups: Array, metric: str, notes: str, share: float) -> VectorSet:
    """Queries are rows of random whole groups that hold at least ``share`` of all rows.

    Rows of held-out groups that do not become queries are dropped, so that no query has a sibling in the database.
    """
    rng = np.random.default_rng(SEED)
    names, members = np.unique(groups, return_inverse=True)
    order = rng.permutation(len(names))
    sizes = np.bincount(members)[order]
    n_groups = int(np.searchsorted(np.cumsum(sizes), share * len(X))) + 1
    held = np.isin(members, order[:n_groups])
    return make_set(X[~held], X[rng.permutation(np.flatnonzero(held))], metric, notes)


def as_rows(X: Array) -> F32:
    """``X`` as contiguous float32 rows."""
    return np.ascontiguousarray(X.reshape(len(X), -1), dtype=np.float32)


def unit_rows(X: Array) -> F32:
    """``X`` as contiguous float32 rows of unit length; zero rows stay zero."""
    rows = as_rows(X)
    norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return as_rows(rows / np.where(norms > 0, norms, 1.0))

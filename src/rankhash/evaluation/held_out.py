"""Metrics of a fitted hasher, or of an index of vectors, on held-out queries: by true neighbours or by classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_integer
from .._types import F32, I64, U8, Array
from ..errors import InvalidInputError
from ..hashers import Hasher
from ..index import FlatIndex
from ..neighbors import Neighbors
from ..vector_index import VectorIndex
from .counts import count_codes
from .metrics import mean, neighbor_recall, neighbor_recall_by_distance
from .truth import ClassTruth, IdTruth, Truth, distances_to, exact_neighbors

RADII = (2, 3)


def hold_out(n: int, n_queries: int, seed: int) -> tuple[I64, I64]:
    """Row numbers of a database, and of random queries that are not part of it.

    >>> [part.tolist() for part in hold_out(4, 1, 0)]
    [[0, 1, 3], [2]]
    """
    if not 1 <= n_queries < n:
        raise InvalidInputError(f"cannot hold out {n_queries} of {n} vectors as queries; hold out 1 to {n - 1}")
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[n_queries:]), np.sort(order[:n_queries])


def evaluate(
    hasher: Hasher,
    database: Any,
    queries: Any,
    *,
    labels: tuple[Any, Any] | None = None,
    k: int = 10,
    metric: str = "euclidean",
    candidates: int = 100,
) -> dict[str, float]:
    """Retrieval quality of a fitted hasher on held-out queries, as a dictionary of metrics by name.

    Parameters
    ----------
    hasher
        A fitted hasher.
    database, queries
        Vectors ``(n, d)`` and ``(n_queries, d)``.
    labels
        The classes of the database and of the queries; items of the same class are relevant. None (default): the k
        nearest vectors are relevant.
    k
        Number of neighbours per query, 1 to n; default 10.
    metric
        Distance that defines the nearest vectors: ``"euclidean"`` (default), ``"cosine"`` or ``"inner_product"``.
    candidates
        Number of nearest codes that are re-ranked by true distance, k if that is more; default 100. Fewer vectors
        are all candidates.

    Examples
    --------
    >>> from rankhash import LSH
    >>> X = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
    >>> found = evaluate(LSH(64, random_state=0).fit(X), X[:200], X[200:], k=5)
    >>> 0.1 < found["recall@5"] < found["recall@5 (asymmetric)"] < 1
    True
    """
    base, asked = np.asarray(database), np.asarray(queries)
    nearest = exact_neighbors(asked, base, k, metric=metric)
    candidates = max(check_integer("candidates", candidates), k)
    truth: Truth = IdTruth(nearest.ids) if labels is None else ClassTruth(labels[1], labels[0])
    codes, asked_codes = hasher.encode(base), hasher.encode(asked)
    counts = count_codes(asked_codes, codes, hasher.layout_, truth)
    found: dict[str, float] = {}
    for name, ids in _answers(hasher, codes, asked, min(candidates, len(base))).items():
        far = distances_to(asked, base, ids[:, :k], metric=metric)
        found |= _recalls(name, ids[:, :k], far, nearest)
        found[f"recall@{k}{name}, {candidates} candidates re-ranked"] = mean(neighbor_recall(ids, nearest.ids))
    found |= {
        "average precision (pooled)": counts.average_precision(),
        "mean average precision": mean(counts.query_average_precision()),
        f"precision@{k}": mean(counts.precision_at(k)),
        f"NDCG@{k}": mean(counts.ndcg(k)),
    }
    for radius in RADII:
        found[f"precision within radius {radius} (empty ball: 0)"] = mean(counts.ball_precision(radius))
        empty = np.isnan(counts.ball_precision(radius, "leave_out"))
        found[f"queries with nothing within radius {radius}"] = float(empty.mean())
    return found


def evaluate_index(
    index: VectorIndex, database: Any, queries: Any, *, k: int = 10, recall: float | None = None
) -> dict[str, float]:
    """The fraction of the true neighbours that an index of vectors finds, by name of the metric.

    The names are those of [`evaluate`][rankhash.evaluation.evaluate], so that an index can be compared with hashers.

    Parameters
    ----------
    index
        An index of the database under its row numbers; its metric defines the nearest vectors.
    database, queries
        Vectors ``(n, d)`` and ``(n_queries, d)``.
    k
        Number of neighbours, 1 to n; default 10.
    recall
        The ``recall`` of searches; default None: that of the index.

    Examples
    --------
    >>> from rankhash import VectorIndex
    >>> X = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
    >>> index = VectorIndex("euclidean")
    >>> ids = index.add(X[:200])
    >>> evaluate_index(index, X[:200], X[200:], k=5)
    {'recall@5': 1.0, 'recall@5, by distance': 1.0}
    """
    base, asked = np.asarray(database), np.asarray(queries)
    if not np.array_equal(index.ids, np.arange(len(base))):
        raise InvalidInputError(
            f"the index must hold the {len(base)} vectors of the database under their row numbers, 0 to {len(base) - 1}"
        )
    metric = {"dot": "inner_product"}.get(index.metric, index.metric)
    nearest = exact_neighbors(asked, base, k, metric=metric)
    ids = index.search(asked, k, recall=recall).ids
    return _recalls("", ids, distances_to(asked, base, ids, metric=metric), nearest)


def _recalls(name: str, ids: I64, far: F32, nearest: Neighbors) -> dict[str, float]:
    """Recall by ids, and by the true distances ``far`` of the found vectors."""
    k = ids.shape[1]
    return {
        f"recall@{k}{name}": mean(neighbor_recall(ids, nearest.ids)),
        f"recall@{k}{name}, by distance": mean(neighbor_recall_by_distance(far, nearest.distances, k)),
    }


def _answers(hasher: Hasher, codes: U8, queries: Array, k: int) -> dict[str, I64]:
    """Ids of the k nearest codes by Hamming distance, and by the score tables of the queries."""
    index = FlatIndex(hasher.layout_)
    index.add(codes)
    return {
        "": index.search(hasher.encode(queries), k=k).ids,
        " (asymmetric)": index.search_scores(hasher.score_tables(queries), k=k).ids,
    }

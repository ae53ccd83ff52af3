"""The same metrics for a user's own vectors and a fitted hasher, against the true neighbours or the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from ..hashers import Hasher
from ..index import FlatIndex
from .counts import count_codes
from .metrics import mean, neighbor_recall, neighbor_recall_by_distance
from .truth import ClassTruth, IdTruth, Truth, distances_to, exact_neighbors

RADII = (2, 3)


def hold_out(n: int, n_queries: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers of a database and of random queries that are not in it.

    >>> [part.tolist() for part in hold_out(4, 1, 0)]
    [[0, 1, 3], [2]]
    """
    if not 1 <= n_queries < n:
        raise InvalidInputError(f"{n_queries} queries cannot be taken out of {n} vectors; take from 1 to {n - 1}")
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
) -> dict[str, float]:
    """How well a fitted hasher's codes find what the queries should find, by name of the metric.

    Parameters
    ----------
    hasher
        A fitted hasher.
    database, queries
        Vectors ``(n, d)`` and ``(n_queries, d)``.
    labels
        The classes of the database and of the queries: relevant is what shares one. Without them the relevant items
        are the k nearest vectors.
    k
        Neighbours to look for, 1 to n.
    metric
        What the nearest vectors are: ``"euclidean"``, ``"cosine"`` or ``"inner_product"``.

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
    truth: Truth = IdTruth(nearest.ids) if labels is None else ClassTruth(labels[1], labels[0])
    codes, asked_codes = hasher.encode(base), hasher.encode(asked)
    counts = count_codes(asked_codes, codes, hasher.layout_, truth)
    found: dict[str, float] = {
        "average precision (pooled)": counts.average_precision(),
        "mean average precision": mean(counts.query_average_precision()),
        f"precision@{k}": mean(counts.precision_at(k)),
        f"NDCG@{k}": mean(counts.ndcg(k)),
    }
    for radius in RADII:
        found[f"precision within radius {radius} (empty ball: 0)"] = mean(counts.ball_precision(radius))
        empty = np.isnan(counts.ball_precision(radius, "leave_out"))
        found[f"queries with nothing within radius {radius}"] = float(empty.mean())
    index = FlatIndex(hasher.layout_)
    index.add(codes)
    searches = {
        "": index.search(asked_codes, k=k),
        " (asymmetric)": index.search_tables(hasher.score_tables(asked), k=k),
    }
    for name, answer in searches.items():
        found[f"recall@{k}{name}"] = mean(neighbor_recall(answer.ids, nearest.ids))
        far = distances_to(asked, base, answer.ids, metric=metric)
        found[f"recall@{k}{name}, by distance"] = mean(neighbor_recall_by_distance(far, nearest.distances, k))
    return found

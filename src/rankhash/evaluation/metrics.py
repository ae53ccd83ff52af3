"""Retrieval metrics: pure functions of (distances, relevance) and of (ids, truth).

Distances have the shape ``(n_queries, n)``, smaller is nearer. Relevance has the same shape and says which items a
query should find. Items at the same distance are tied: every metric is its expected value over all orders of the ties,
so that it does not depend on a sorting algorithm. [`Counts`][rankhash.evaluation.Counts] has the same metrics for data
that do not fit into memory.

::

    pooled over all pairs      precision_recall  average_precision  pooled_ball_precision
    one value per query        query_precision_recall  query_average_precision  ball_precision  precision_at  recall_at
                               ndcg  neighbor_recall  neighbor_recall_by_distance
    mean over queries          mean  mean_average_precision
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _ranking
from .._types import F64
from ..errors import InvalidInputError
from .counts import NO_RELEVANT, Counts, checked, discounted, discounts, levels_of, ratio, tally


def precision_recall(distances: Any, relevant: Any) -> tuple[F64, F64]:
    """Precision and recall of all pairs within each occurring distance, in ascending order, pooled over queries.

    >>> precision_recall([[0, 1, 1, 2]], [[True, True, False, False]])
    (array([1.        , 0.66666667, 0.5       ]), array([0.5, 1. , 1. ]))
    """
    return _ranking.precision_recall(*checked(distances, relevant))


def query_precision_recall(distances: Any, relevant: Any) -> tuple[F64, F64]:
    """Precision and recall per query, ``(n_queries, n_levels)``; NaN where no item is found or relevant.

    For integer distances, column r is the radius r. For real distances it is the r-th smallest distance of the query.

    >>> query_precision_recall([[0, 2]], [[False, True]])
    (array([[0. , 0. , 0.5]]), array([[0., 0., 1.]]))
    """
    return Counts.of(distances, relevant).query_precision_recall()


def average_precision(distances: Any, relevant: Any) -> float:
    """Area under the pooled precision-recall curve: one point per radius, trapezoidal rule.

    From recall 0 up to the first point, the precision is that of the first point.

    >>> round(average_precision([[0, 1, 1, 2]], [[True, True, False, False]]), 4)
    0.9167
    """
    distances, relevant = checked(distances, relevant)
    if not relevant.any():
        raise InvalidInputError(NO_RELEVANT)
    return _ranking.average_precision(distances, relevant)


def query_average_precision(distances: Any, relevant: Any) -> F64:
    """Average precision per query: the mean of the precision at each relevant item; NaN without a relevant item.

    Ties are averaged over all of their orders [1]_, in closed form.

    References
    ----------
    .. [1] F. McSherry, M. Najork, Computing information retrieval performance measures efficiently in the
       presence of tied scores, ECIR 2008.

    Examples
    --------
    >>> query_average_precision([[0, 1, 1]], [[False, True, False]]).round(4)  # the mean of 1/2 and 1/3
    array([0.4167])
    """
    return Counts.of(distances, relevant).query_average_precision()


def mean_average_precision(distances: Any, relevant: Any) -> float:
    """The mean of `query_average_precision` over the queries that have a relevant item.

    >>> round(mean_average_precision([[0, 1, 1], [0, 0, 0]], [[False, True, False], [False, False, False]]), 4)
    0.4167
    """
    return mean(query_average_precision(distances, relevant))


def ball_precision(distances: Any, relevant: Any, radius: float, *, empty: str = "zero") -> F64:
    """Precision within a radius, per query.

    Parameters
    ----------
    distances, relevant
        Distances and relevance, both ``(n_queries, n)``.
    radius
        Largest distance that counts.
    empty
        Value of a query without any item within the radius: ``"zero"`` (default), ``"one"``, or ``"leave_out"`` for
        NaN.

    Examples
    --------
    >>> distances, relevant = [[0, 2, 3], [3, 3, 3]], [[True, False, True], [True, True, True]]
    >>> ball_precision(distances, relevant, 2), ball_precision(distances, relevant, 2, empty="leave_out")
    (array([0.5, 0. ]), array([0.5, nan]))
    """
    distances, relevant = checked(distances, relevant)
    return Counts.of((distances > radius).astype(np.uint8), relevant).ball_precision(0, empty)


def pooled_ball_precision(distances: Any, relevant: Any, radius: float) -> float:
    """Precision of all pairs within a radius, pooled over the queries; 0 if there is no pair within it.

    Queries with large balls count more, and empty balls have no effect, unlike in the mean of `ball_precision`.

    Parameters
    ----------
    distances, relevant
        Distances and relevance, both ``(n_queries, n)``.
    radius
        Largest distance that counts.

    Examples
    --------
    >>> distances, relevant = [[0, 2, 2], [3, 3, 3]], [[True, False, True], [True, True, True]]
    >>> round(pooled_ball_precision(distances, relevant, 2), 4), pooled_ball_precision(distances, relevant, -1)
    (0.6667, 0.0)
    """
    distances, relevant = checked(distances, relevant)
    return Counts.of((distances > radius).astype(np.uint8), relevant).pooled_ball_precision(0)


def precision_at(distances: Any, relevant: Any, k: int) -> F64:
    """Expected precision of the k nearest, per query.

    >>> precision_at([[0, 1, 1, 1]], [[True, True, False, False]], 2).round(4)
    array([0.6667])
    """
    return Counts.of(distances, relevant).precision_at(k)


def recall_at(distances: Any, relevant: Any, k: int) -> F64:
    """Expected recall of the k nearest, per query; NaN for a query without relevant items.

    >>> recall_at([[0, 1, 1, 1]], [[True, True, False, False]], 2).round(4)
    array([0.6667])
    """
    return Counts.of(distances, relevant).recall_at(k)


def ndcg(distances: Any, gains: Any, k: int | None = None) -> F64:
    """Normalised discounted cumulative gain of the k nearest, per query; NaN for a query without any gain.

    The item at place i contributes gain / log2(i + 1).

    Parameters
    ----------
    distances
        Distances ``(n_queries, n)``.
    gains
        Booleans or numbers ≥ 0, same shape.
    k
        Number of nearest items that count; None (default) counts all.

    Examples
    --------
    >>> ndcg([[0, 1, 2]], [[1, 3, 0]]).round(4)
    array([0.7967])
    """
    distances, gains = checked(distances, gains, kinds="biuf")
    if not (gains >= 0).all():
        raise InvalidInputError("gains must be 0 or more")
    k = distances.shape[1] if k is None else k
    if not 1 <= k <= distances.shape[1]:
        raise InvalidInputError(f"k must lie between 1 and the number of items, {distances.shape[1]}, got {k}")
    levels, _ = levels_of(distances)
    found = tally(levels)
    places = levels + np.arange(len(levels))[:, None] * found.shape[1]
    sums = np.bincount(places.ravel(), gains.ravel().astype(np.float64), found.size).reshape(found.shape)
    ideal = -np.sort(-gains.astype(np.float64), axis=1)[:, :k] @ np.diff(discounts(k))
    return ratio(discounted(found, sums, k), ideal)


def neighbor_recall(ids: Any, truth: Any) -> F64:
    """Fraction of the true neighbours that were found, per query.

    Where the k-th neighbour is tied, use
    [`neighbor_recall_by_distance`][rankhash.evaluation.neighbor_recall_by_distance].

    Parameters
    ----------
    ids
        Ids that were found, ``(n_queries, any width)``.
    truth
        Ids of the true neighbours, ``(n_queries, k)``. In both arrays -1 marks an empty place, which is ignored.

    Examples
    --------
    >>> neighbor_recall([[4, 7, -1]], [[7, 8, 4]]).round(4)
    array([0.6667])
    """
    ids, truth = np.asarray(ids), np.asarray(truth)
    if ids.ndim != 2 or truth.ndim != 2 or len(ids) != len(truth) or not truth.size:
        raise InvalidInputError(f"ids and truth must be (n_queries, k), got {ids.shape} and {truth.shape}")
    known = [row[row >= 0] for row in truth]
    found = (np.intersect1d(a, b).size / max(len(b), 1) for a, b in zip(ids, known, strict=True))
    return np.fromiter(found, np.float64, len(ids))


def neighbor_recall_by_distance(distances: Any, true_distances: Any, k: int, *, epsilon: float = 1e-3) -> F64:
    """Recall at k as ann-benchmarks defines it, per query.

    It is the number of found items that are at most as far as the k-th true neighbour, divided by k.

    Parameters
    ----------
    distances
        True distances from each query to the items that were found, ``(n_queries, ≥ k)``, in any order.
    true_distances
        Distances from each query to its true neighbours, ``(n_queries, ≥ k)``, ascending.
    k
        Number of neighbours that count.
    epsilon
        Tolerance that is added to the k-th true distance; default 0.001.

    Examples
    --------
    >>> neighbor_recall_by_distance([[1.0, 2.0, 9.0]], [[1.0, 2.0, 2.0]], 3).round(4)
    array([0.6667])
    """
    distances, true_distances = np.asarray(distances), np.asarray(true_distances)
    if min(distances.ndim, true_distances.ndim) < 2 or true_distances.shape[1] < k or k < 1:
        raise InvalidInputError(f"recall at {k} needs the distances of {k} true neighbours for every query")
    limit = true_distances[:, k - 1 : k] + epsilon
    share: F64 = (distances[:, :k] <= limit).sum(axis=1) / k
    return share


def mean(values: F64) -> float:
    """Mean over queries, ignoring NaN; an error if all values are NaN.

    >>> mean(np.array([1.0, np.nan, 0.0]))
    0.5
    """
    defined = values[~np.isnan(values)]
    if not len(defined):
        raise InvalidInputError(NO_RELEVANT)
    return float(defined.mean())

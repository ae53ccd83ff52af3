"""How good distances, or neighbours, are: pure functions of (distances, relevance) and of (ids, truth).

Distances are ``(n_queries, n)``, smaller is nearer; relevance has the same shape and says which items a query should
find. Items at one distance have no order: every metric is the expected value over all orders of the ties, so that it
does not depend on how something was sorted. :class:`Counts` has the same metrics for what does not fit into memory.

::

    pooled over all pairs      precision_recall  average_precision
    one value a query          query_precision_recall  query_average_precision  ball_precision  precision_at  recall_at
                               ndcg  neighbor_recall  neighbor_recall_by_distance
    mean of the values         mean  mean_average_precision
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _ranking
from ..errors import InvalidInputError
from .counts import NO_RELEVANT, Counts, checked, discounted, discounts, levels_of, ratio, tally

F64 = NDArray[np.float64]


def precision_recall(distances: Any, relevant: Any) -> tuple[F64, F64]:
    """Precision and recall of all pairs within each radius that occurs, in ascending order, pooled over queries.

    >>> precision_recall([[0, 1, 1, 2]], [[True, True, False, False]])
    (array([1.        , 0.66666667, 0.5       ]), array([0.5, 1. , 1. ]))
    """
    return _ranking.precision_recall(*checked(distances, relevant))


def query_precision_recall(distances: Any, relevant: Any) -> tuple[F64, F64]:
    """Precision and recall ``(n_queries, n_levels)`` of each query; NaN where nothing is found or relevant.

    For whole distances column r is the radius r; for real ones it is the r-th smallest distance of the query.

    >>> query_precision_recall([[0, 2]], [[False, True]])
    (array([[0. , 0. , 0.5]]), array([[0., 0., 1.]]))
    """
    return Counts.of(distances, relevant).query_precision_recall()


def average_precision(distances: Any, relevant: Any) -> float:
    """The area under the pooled curve of precision over recall, one point a radius, by trapezoids.

    From recall 0 to the first point the precision is that of the first point.

    >>> round(average_precision([[0, 1, 1, 2]], [[True, True, False, False]]), 4)
    0.9167
    """
    distances, relevant = checked(distances, relevant)
    if not relevant.any():
        raise InvalidInputError(NO_RELEVANT)
    return _ranking.average_precision(distances, relevant)


def query_average_precision(distances: Any, relevant: Any) -> F64:
    """The mean of the precision at each relevant item, for each query; NaN for one without a relevant item.

    It is the expected value over all orders of the ties [1]_, in closed form.

    References
    ----------
    .. [1] F. McSherry, M. Najork, Computing information retrieval performance measures efficiently in the
       presence of tied scores, ECIR 2008.

    Examples
    --------
    >>> query_average_precision([[0, 1, 1]], [[False, True, False]]).round(4)  # half of 1/2 and of 1/3
    array([0.4167])
    """
    return Counts.of(distances, relevant).query_average_precision()


def mean_average_precision(distances: Any, relevant: Any) -> float:
    """The mean of :func:`query_average_precision` over the queries that have a relevant item.

    >>> round(mean_average_precision([[0, 1, 1], [0, 0, 0]], [[False, True, False], [False, False, False]]), 4)
    0.4167
    """
    return mean(query_average_precision(distances, relevant))


def ball_precision(distances: Any, relevant: Any, radius: float, *, empty: str = "zero") -> F64:
    """The share of relevant items among those within a radius, for each query.

    ``empty`` says what a query counts that finds nothing there: ``"zero"``, ``"one"``, or ``"leave_out"`` (NaN).

    >>> distances, relevant = [[0, 2, 3], [3, 3, 3]], [[True, False, True], [True, True, True]]
    >>> ball_precision(distances, relevant, 2), ball_precision(distances, relevant, 2, empty="leave_out")
    (array([0.5, 0. ]), array([0.5, nan]))
    """
    distances, relevant = checked(distances, relevant)
    return Counts.of((distances > radius).astype(np.uint8), relevant).ball_precision(0, empty)


def precision_at(distances: Any, relevant: Any, k: int) -> F64:
    """The expected share of relevant items among the k nearest of each query.

    >>> precision_at([[0, 1, 1, 1]], [[True, True, False, False]], 2).round(4)
    array([0.6667])
    """
    return Counts.of(distances, relevant).precision_at(k)


def recall_at(distances: Any, relevant: Any, k: int) -> F64:
    """The expected share of a query's relevant items among its k nearest; NaN for one without a relevant item.

    >>> recall_at([[0, 1, 1, 1]], [[True, True, False, False]], 2).round(4)
    array([0.6667])
    """
    return Counts.of(distances, relevant).recall_at(k)


def ndcg(distances: Any, gains: Any, k: int | None = None) -> F64:
    """Normalised discounted cumulative gain of each query's k nearest, or of all; NaN for one without any gain.

    ``gains`` are True or False, or numbers from 0. An item at place i counts its gain / log2(i + 1).

    >>> ndcg([[0, 1, 2]], [[1, 3, 0]]).round(4)
    array([0.7967])
    """
    distances, gains = checked(distances, gains, kinds="biuf")
    if not (gains >= 0).all():
        raise InvalidInputError("gains must be 0 or more")
    k = distances.shape[1] if k is None else k
    if not 1 <= k <= distances.shape[1]:
        raise InvalidInputError(f"k must lie between 1 and the {distances.shape[1]} items that there are, got {k}")
    levels, _ = levels_of(distances)
    found = tally(levels)
    places = levels + np.arange(len(levels))[:, None] * found.shape[1]
    sums = np.bincount(places.ravel(), gains.ravel().astype(np.float64), found.size).reshape(found.shape)
    ideal = -np.sort(-gains.astype(np.float64), axis=1)[:, :k] @ np.diff(discounts(k))
    return ratio(discounted(found, sums, k), ideal)


def neighbor_recall(ids: Any, truth: Any) -> F64:
    """The share of the true neighbours ``truth`` ``(n_queries, k)`` that are among ``ids``, for each query.

    Places with id -1 are empty and count for nothing. Where the k-th neighbour is tied, use
    :func:`neighbor_recall_by_distance`.

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
    """Recall at k as ann-benchmarks defines it: the share of k whose *true* distance is at most the k-th true one.

    ``distances`` ``(n_queries, ≥ k)`` are the true distances from each query to what was found, in any order;
    ``true_distances`` those of its true neighbours, ascending; ``epsilon`` is added to the k-th.

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
    """The mean of the queries' values without NaN; an error if there is none.

    >>> mean(np.array([1.0, np.nan, 0.0]))
    0.5
    """
    defined = values[~np.isnan(values)]
    if not len(defined):
        raise InvalidInputError(NO_RELEVANT)
    return float(defined.mean())

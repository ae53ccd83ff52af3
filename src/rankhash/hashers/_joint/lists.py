"""Lists of nearest neighbours: the true neighbours of a point are to rank before the false hits of its code.

::

    queries of a sample ─▶ their 10 nearest                                        ─▶ positives
                        ─▶ the first 200 by hard codes, without the 50 nearest     ─▶ hard negatives, renewed regularly
    128 queries ─▶ 10 positives, 40 hard and 10 random negatives each ─▶ gradient of the logistic loss of all pairs

Average precision over all pairs is dominated by dense regions. Lists give every query the same weight, and contain the
false hits that determine the recall of a search.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from ..._types import F32, I64
from ...similarity import MetricNeighbors
from .soft_codes import SoftCodes, hard_codes, with_constant

SAMPLE, POOL = 20_000, 4000
"""Largest number of points in lists, and largest number of points that have a list."""

N_NEAREST, N_UNDECIDED = 10, 50
"""Number of positives of a query, and number of its nearest points that are never negatives."""

DEPTH = 200
"""Number of first hits from which hard negatives are drawn."""

N_HARD, N_RANDOM = 40, 10
"""Negatives of a list in one step."""

N_QUERIES, QUERIES_PER_SEARCH, STEPS_PER_SEARCH = 128, 1024, 20
"""Queries per step; queries per search for hard negatives, and steps per search."""

TEMPERATURE = 0.25
"""A pair's loss is log(1 + exp(-(a - a') / T)), a and a' being agreements, with T = 0.25 √n_symbols."""

MIN_POINTS = 2 * (DEPTH + N_UNDECIDED)
"""Smallest number of points for which there are lists."""


class NearestLists:
    """Gradients of the mean loss of lists, for codes of ``n_symbols`` bits.

    Neighbours are those of ``source``, whose points have the coordinates ``x`` ``(n, d)``.

    >>> points = np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32)
    >>> source = MetricNeighbors(points, 20, np.random.default_rng(0))
    >>> lists = NearestLists(points, source, 8, np.random.default_rng(0))
    >>> lists.gradient(np.ones((8, 5), np.float32), 1.0).shape
    (8, 5)
    """

    def __init__(self, x: F32, source: MetricNeighbors, n_symbols: int, rng: np.random.Generator) -> None:
        rows = np.sort(rng.choice(source.n_points, min(SAMPLE, source.n_points), replace=False))
        self._points, self._n_symbols, self._rng = with_constant(x[rows]), n_symbols, rng
        self._queries = np.sort(rng.choice(len(rows), min(POOL, len(rows)), replace=False))
        self._nearest = nearest_places(source, rows, self._queries, N_UNDECIDED)
        self._n_steps = 0

    def gradient(self, weights: F32, sharpness: float) -> F32:
        """The ascent direction of the projections ``weights``, for the next 128 queries."""
        if self._n_steps % STEPS_PER_SEARCH == 0:
            self._search(weights)
        self._n_steps += 1
        rows, used = _places(self._lists(), len(self._points))
        x = self._points[used]
        soft = SoftCodes.of(x @ weights.T, self._n_symbols, 2, sharpness)
        queries, others = soft.values[rows[:, 0]], soft.values[rows[:, 1:]]
        slopes = self._slopes((others @ queries[:, :, None])[:, :, 0])
        links = scipy.sparse.csr_array(
            (slopes.ravel(), rows[:, 1:].ravel(), np.arange(len(rows) + 1) * slopes.shape[1]), (len(rows), len(x))
        )
        pull: F32 = links.T @ queries
        pull[rows[:, 0]] += links @ soft.values
        ascent: F32 = soft.score_gradient(pull).T @ x
        return ascent

    def _lists(self) -> I64:
        """Rows of queries, positives and negatives, ``(128, 1 + 10 + 50)``."""
        rng, size = self._rng, min(N_QUERIES, len(self._current))
        places = rng.choice(len(self._current), size, replace=False)
        queries = self._current[places]
        hard = np.take_along_axis(self._hits[places], rng.integers(0, DEPTH, (size, N_HARD)), axis=1)
        others = rng.integers(0, len(self._points), (size, N_RANDOM))
        return np.concatenate(
            [self._queries[queries, None], self._nearest[queries, :N_NEAREST], hard, others], axis=1, dtype=np.int64
        )

    def _slopes(self, products: F32) -> F32:
        """Ascent directions of the products of a query with its list, positives first."""
        apart = products[:, :N_NEAREST, None] - products[:, None, N_NEAREST:]
        apart /= np.float32(2 * TEMPERATURE * np.sqrt(self._n_symbols))
        wrong = 1 / (1 + np.exp(np.clip(apart, -30, 30)))
        slopes: F32 = np.concatenate([wrong.sum(axis=2), -wrong.sum(axis=1)], axis=1)
        return slopes

    def _search(self, weights: F32) -> None:
        """The first 200 points of some queries by the agreement of hard codes, without the nearest ones."""
        hard = hard_codes(self._points @ weights.T)
        self._current = self._rng.choice(
            len(self._queries), min(QUERIES_PER_SEARCH, len(self._queries)), replace=False, shuffle=False
        )
        self._hits = np.empty((len(self._current), DEPTH), np.int64)
        for start in range(0, len(self._current), N_QUERIES):
            some = self._current[start : start + N_QUERIES]
            rows = self._queries[some]
            agreement = hard[rows] @ hard.T
            np.put_along_axis(agreement, self._nearest[some], -np.inf, axis=1)
            agreement[np.arange(len(rows)), rows] = -np.inf
            self._hits[start : start + N_QUERIES] = np.argpartition(agreement, -DEPTH, axis=1)[:, -DEPTH:]


def _places(rows: I64, n: int) -> tuple[I64, I64]:
    """The rows as indexes into their sorted unique values, and these values; ``n`` is the number of all rows.

    >>> [part.tolist() for part in _places(np.array([[7, 2], [2, 9]]), 10)]
    [[[1, 0], [0, 2]], [2, 7, 9]]
    """
    occurs = np.zeros(n, bool)
    occurs[rows] = True
    return (np.cumsum(occurs) - 1)[rows], np.flatnonzero(occurs)


def nearest_places(source: MetricNeighbors, rows: I64, queries: I64, n_nearest: int) -> I64:
    """Indexes into ``rows`` of the nearest points of ``rows[queries]``, without the point itself, nearest first."""
    nearest = np.empty((len(queries), n_nearest), np.int64)
    for start in range(0, len(queries), N_QUERIES):
        places = queries[start : start + N_QUERIES]
        squares = source.squares_to(source.vectors[rows[places]], rows)
        squares[np.arange(len(places)), places] = np.inf
        found = np.argpartition(squares, n_nearest, axis=1)[:, :n_nearest]
        order = np.argsort(np.take_along_axis(squares, found, axis=1), axis=1, kind="stable")
        nearest[start : start + N_QUERIES] = np.take_along_axis(found, order, axis=1)
    return nearest

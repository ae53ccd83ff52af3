"""What every ranking metric is made of: how many items, and how many relevant ones, each query has at each distance.

::

    distances, relevant ─▶ Counts.of ─┐                      counts + counts      further codes of the same queries
    codes, truth ──────▶ count_codes ─┴─▶ Counts ─▶ metrics  Counts.join(parts)   further queries

Items at one distance are never put in an order: a metric is its expected value over all orders of the ties, in
closed form. So 10⁴ queries × 10⁶ codes need a few megabytes and not a matrix.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from .. import _ranking
from ..codes import CodeLayout
from ..errors import InvalidInputError
from .truth import Truth

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
U8 = NDArray[np.uint8]

EMPTY_BALLS = ("zero", "one", "leave_out")
BLOCK_PAIRS = 1 << 22
"""Pairs of a query and a code that are compared at once."""

MAX_LEVELS = 1 << 16
"""Larger whole distances are ranked like real ones."""


@dataclass(frozen=True)
class Counts:
    """Items and relevant items of each query at each level of distance, nearest first.

    ``found`` and ``hits`` are ``(n_queries, n_levels)``. If ``common``, level r is the distance r of every query, so
    that queries can be pooled; else each query's distances are ranked by themselves.

    Metrics of single queries return ``(n_queries,)``, with NaN where the metric has no value.

    >>> counts = Counts.of(np.array([[0, 1, 1, 3]]), np.array([[True, True, False, False]]))
    >>> counts.found.tolist(), counts.hits.tolist()
    ([[1, 2, 0, 1]], [[1, 1, 0, 0]])
    >>> counts.query_average_precision().round(4), round(counts.average_precision(), 4)
    (array([0.9167]), 0.9167)
    """

    found: I64
    hits: I64
    common: bool = True

    @classmethod
    def of(cls, distances: Any, relevant: Any) -> Counts:
        """The counts of distances ``(n_queries, n)``, smaller is nearer, and of who is relevant."""
        distances, relevant = checked(distances, relevant)
        levels, common = levels_of(distances)
        return cls(tally(levels), tally(levels, relevant), common)

    @classmethod
    def join(cls, parts: Iterable[Counts]) -> Counts:
        """The counts of all queries of all parts, in this order."""
        parts = list(parts)
        width = max(part.found.shape[1] for part in parts)
        found = np.concatenate([_wide(part.found, width) for part in parts])
        hits = np.concatenate([_wide(part.hits, width) for part in parts])
        return cls(found, hits, all(part.common for part in parts))

    def __add__(self, other: Counts) -> Counts:
        self._need_common("add up")
        other._need_common("add up")
        width = max(self.found.shape[1], other.found.shape[1])
        found = _wide(self.found, width) + _wide(other.found, width)
        return Counts(found, _wide(self.hits, width) + _wide(other.hits, width))

    @property
    def n_items(self) -> int:
        """Items that each query is compared with."""
        return int(self.found[0].sum())

    @property
    def n_relevant(self) -> I64:
        """Relevant items of each query."""
        total: I64 = self.hits.sum(axis=1)
        return total

    def pooled(self) -> Counts:
        """The pairs of all queries together, as if there were one query."""
        self._need_common("pool")
        return Counts(self.found.sum(axis=0, keepdims=True), self.hits.sum(axis=0, keepdims=True))

    def precision_recall(self) -> tuple[F64, F64]:
        """Precision and recall within each distance that occurs, pooled over all queries."""
        pooled = self.pooled()
        return _ranking.curve(pooled.found[0], pooled.hits[0])

    def query_precision_recall(self) -> tuple[F64, F64]:
        """Precision and recall ``(n_queries, n_levels)`` of each query; NaN where nothing is found or relevant."""
        hits = self.hits.cumsum(axis=1)
        return ratio(hits, self.found.cumsum(axis=1)), ratio(hits, self.n_relevant[:, None])

    def average_precision(self) -> float:
        """The area under the pooled curve; see :func:`rankhash.evaluation.average_precision`."""
        self._need_relevant()
        return _ranking.area(*self.precision_recall())

    def query_average_precision(self) -> F64:
        """The expected average precision of each query; see :func:`rankhash.evaluation.query_average_precision`.

        A level of f items, h of them relevant, that follows N items with H relevant ones adds
        h/f · Σᵢ (H + 1 + (i-1)(h-1)/(f-1)) / (N+i), i = 1 … f. As i - 1 = (N+i) - (N+1), the sum is one of harmonic
        numbers.
        """
        f, h = self.found.astype(np.float64), self.hits.astype(np.float64)
        before, hits_before = f.cumsum(axis=1) - f, h.cumsum(axis=1) - h
        slope = np.maximum(h - 1, 0) / np.maximum(f - 1, 1)
        harmonic = digamma(before + f + 1) - digamma(before + 1)
        level = h / np.maximum(f, 1) * ((hits_before + 1 - slope * (before + 1)) * harmonic + slope * f)
        return ratio(level.sum(axis=1), h.sum(axis=1))

    def ball_precision(self, radius: int, empty: str = "zero") -> F64:
        """The share of relevant items within a radius; see :func:`rankhash.evaluation.ball_precision`."""
        if empty not in EMPTY_BALLS:
            raise InvalidInputError(f"empty must be one of {', '.join(EMPTY_BALLS)}, got {empty!r}")
        self._need_common("count within a radius")
        found, hits = (part[:, : radius + 1].sum(axis=1) for part in (self.found, self.hits))
        precision = ratio(hits, found)
        if empty != "leave_out":
            precision[found == 0] = float(empty == "one")
        return precision

    def hits_at(self, k: int) -> F64:
        """The expected number of relevant items among the k nearest of each query."""
        if not 1 <= k <= self.n_items:
            raise InvalidInputError(f"k must lie between 1 and the {self.n_items} items that there are, got {k}")
        before = self.found.cumsum(axis=1) - self.found
        taken = np.clip(k - before, 0, self.found)
        expected: F64 = (self.hits * (taken / np.maximum(self.found, 1))).sum(axis=1)
        return expected

    def precision_at(self, k: int) -> F64:
        """The expected share of relevant items among the k nearest of each query."""
        return self.hits_at(k) / k

    def recall_at(self, k: int) -> F64:
        """The expected share of its relevant items that each query has among its k nearest."""
        return ratio(self.hits_at(k), self.n_relevant)

    def ndcg(self, k: int | None = None) -> F64:
        """The expected NDCG of each query; see :func:`rankhash.evaluation.ndcg`."""
        k = self.n_items if k is None else k
        best = discounts(min(k, self.n_items))[np.minimum(self.n_relevant, k)]
        return ratio(discounted(self.found, self.hits, k), best)

    def _need_common(self, what: str) -> None:
        if not self.common:
            raise InvalidInputError(
                f"cannot {what}: these are real-valued distances, ranked for each query by itself; "
                "use the function of distances and relevance"
            )

    def _need_relevant(self) -> None:
        if not self.hits.any():
            raise InvalidInputError(NO_RELEVANT)


NO_RELEVANT = "no query has a relevant item; take a larger radius, more neighbours or more items"


def count_codes(queries: U8, database: U8, layout: CodeLayout, truth: Truth) -> Counts:
    """The counts of the differing symbols of all queries and codes, both ``(n, n_bytes)``, in bounded memory.

    >>> from rankhash.evaluation.truth import ClassTruth
    >>> layout = CodeLayout(2, 4)
    >>> codes = layout.pack([[0, 1], [0, 2], [3, 3]])
    >>> count_codes(codes[:1], codes, layout, ClassTruth([5], [5, 5, 6])).hits
    array([[1, 1, 0]])
    """
    n_levels = layout.n_symbols + 1
    columns = min(len(database), BLOCK_PAIRS >> 6)
    rows = max(1, BLOCK_PAIRS // columns)
    found, hits = (np.zeros((len(queries), n_levels), np.int64) for _ in range(2))
    for start in range(0, len(database), columns):
        there = slice(start, min(start + columns, len(database)))
        stored = _embed(layout.unpack(database[there]), layout.arity).T
        for first in range(0, len(queries), rows):
            here = slice(first, min(first + rows, len(queries)))
            agreeing = _embed(layout.unpack(queries[here]), layout.arity) @ stored
            if layout.arity == 2:
                agreeing = (agreeing + layout.n_symbols) / 2
            differing = layout.n_symbols - np.rint(agreeing).astype(np.int64)
            found[here] += tally(differing, n_levels=n_levels)
            hits[here] += tally(differing, truth.block(here, there), n_levels)
    return Counts(found, hits)


def _embed(symbols: U8, arity: int) -> F32:
    """Rows whose inner product tells how many symbols agree: one-hot, or ±1 for bits. Sums of float32 are exact."""
    if arity == 2:
        return symbols.astype(np.float32) * 2 - 1
    rows: F32 = np.eye(arity, dtype=np.float32)[symbols].reshape(len(symbols), -1)
    return rows


def checked(distances: Any, relevant: Any, kinds: str = "b") -> tuple[NDArray[Any], NDArray[Any]]:
    """Both as arrays of one shape, after making sure that a metric can be made of them."""
    distances, relevant = np.asarray(distances), np.asarray(relevant)
    if distances.ndim != 2 or distances.shape != relevant.shape or not distances.size:
        raise InvalidInputError(
            "distances and relevance must both have the shape (n_queries, n) with at least one item, got "
            f"{distances.shape} and {relevant.shape}"
        )
    if distances.dtype.kind not in "iuf" or np.isnan(distances).any():
        raise InvalidInputError("distances must be numbers without NaN")
    if relevant.dtype.kind not in kinds:
        raise InvalidInputError(f"relevance must be True or False for every item, got {relevant.dtype}")
    return distances, relevant


def levels_of(distances: NDArray[Any]) -> tuple[I64, bool]:
    """A level from 0 for every distance, equal for equal distances; and whether level r is distance r."""
    if distances.dtype.kind in "iu" and distances.min() >= 0 and distances.max() < MAX_LEVELS:
        return distances.astype(np.int64), True
    order = np.argsort(distances, axis=1, kind="stable")
    ascending = np.take_along_axis(distances, order, axis=1)
    ranks = np.zeros(distances.shape, np.int64)
    ranks[:, 1:] = (ascending[:, 1:] > ascending[:, :-1]).cumsum(axis=1)
    levels = np.empty_like(ranks)
    np.put_along_axis(levels, order, ranks, axis=1)
    return levels, False


def tally(levels: I64, chosen: NDArray[np.bool_] | None = None, n_levels: int | None = None) -> I64:
    """How many items, or chosen ones, each row has at each level."""
    n_levels = int(levels.max()) + 1 if n_levels is None else n_levels
    places = levels + np.arange(len(levels))[:, None] * n_levels
    places = places.ravel() if chosen is None else places[chosen]
    return np.bincount(places, minlength=len(levels) * n_levels).reshape(len(levels), n_levels)


def discounts(n: int) -> F64:
    """Sums of 1 / log2(place + 1) over the first 0, 1, …, n places."""
    return np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, n + 2)))])


def discounted(found: I64, gains: NDArray[Any], k: int) -> F64:
    """The expected discounted gain of each query's first k items: ties share their places' discounts evenly."""
    after = found.cumsum(axis=1)
    total = discounts(min(k, int(after.max(initial=0))))
    places = total[np.minimum(after, k)] - total[np.minimum(after - found, k)]
    gain: F64 = (gains / np.maximum(found, 1) * places).sum(axis=1)
    return gain


def ratio(part: NDArray[Any], whole: NDArray[Any]) -> F64:
    """Part / whole, NaN where the whole is 0."""
    part, whole = np.broadcast_arrays(part, whole)
    share: F64 = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole != 0)
    return share


def _wide(counts: I64, width: int) -> I64:
    return np.pad(counts, ((0, 0), (0, width - counts.shape[1])))

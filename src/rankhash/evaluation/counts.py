"""Histograms behind every ranking metric: items and relevant items per query at each distance.

::

    distances, relevant ─▶ Counts.of ─┐                      counts + counts      more codes, same queries
    codes, truth ──────▶ count_codes ─┴─▶ Counts ─▶ metrics  Counts.join(parts)   more queries

Items at the same distance are tied. A metric is its expected value over all orders of the ties, in closed form, so the
items are never sorted. 10⁴ queries × 10⁶ codes therefore need a few hundred megabytes instead of a matrix of all
distances.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma

from .. import _ranking
from .._types import F32, F64, I64, U8, Array, Flags
from ..codes import CodeLayout
from ..errors import InvalidInputError
from .truth import Truth

EMPTY_BALLS = ("zero", "one", "leave_out")
BLOCK_PAIRS = 1 << 22
"""Pairs (query, code) that are compared in one block."""

MAX_LEVELS = 1 << 16
"""Integer distances up to here are used as levels directly; larger ones are ranked like real numbers."""


@dataclass(frozen=True)
class Counts:
    """Numbers of items and of relevant items per query at each level of distance, nearest level first.

    Metrics per query have the shape ``(n_queries,)``, with NaN where the metric is undefined.

    Parameters
    ----------
    found
        Items per query and level, ``(n_queries, n_levels)``.
    hits
        Relevant items among them, same shape.
    common
        Whether level r means the distance r for every query, so that queries can be pooled; default True. If False,
        the distances of each query are ranked separately, and a level means something else for each query.

    Examples
    --------
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
        """The counts of ``distances`` ``(n_queries, n)``, smaller is nearer; ``relevant`` is boolean, same shape."""
        distances, relevant = checked(distances, relevant)
        levels, common = levels_of(distances)
        return cls(tally(levels), tally(levels, relevant), common)

    @classmethod
    def join(cls, parts: Iterable[Counts]) -> Counts:
        """The counts of all queries of all parts, in the order of the parts."""
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
        """Number of items that each query is compared with."""
        return int(self.found[0].sum())

    @property
    def n_relevant(self) -> I64:
        """Number of relevant items per query, ``(n_queries,)``."""
        return np.asarray(self.hits.sum(axis=1))

    def pooled(self) -> Counts:
        """The counts of all queries added up, as if they were one query."""
        self._need_common("pool")
        return Counts(self.found.sum(axis=0, keepdims=True), self.hits.sum(axis=0, keepdims=True))

    def precision_recall(self) -> tuple[F64, F64]:
        """Precision and recall within each occurring distance, pooled over all queries."""
        pooled = self.pooled()
        return _ranking.curve(pooled.found[0], pooled.hits[0])

    def query_precision_recall(self) -> tuple[F64, F64]:
        """Precision and recall per query, ``(n_queries, n_levels)``; NaN where no item is found or relevant."""
        hits = self.hits.cumsum(axis=1)
        return ratio(hits, self.found.cumsum(axis=1)), ratio(hits, self.n_relevant[:, None])

    def average_precision(self) -> float:
        """Area under the pooled curve, as [`average_precision`][rankhash.evaluation.average_precision] defines it."""
        self._need_relevant()
        return _ranking.area(*self.precision_recall())

    def query_average_precision(self) -> F64:
        """Expected average precision per query.

        A level with f items, h of them relevant, is preceded by N items, H of them relevant. The level contributes
        h/f · Σᵢ (H + 1 + (i-1)(h-1)/(f-1)) / (N+i), i = 1 … f. Since i - 1 = (N+i) - (N+1), the sum reduces to
        harmonic numbers.
        """
        f, h = self.found.astype(np.float64), self.hits.astype(np.float64)
        before, hits_before = f.cumsum(axis=1) - f, h.cumsum(axis=1) - h
        slope = np.maximum(h - 1, 0) / np.maximum(f - 1, 1)
        harmonic = digamma(before + f + 1) - digamma(before + 1)
        level = h / np.maximum(f, 1) * ((hits_before + 1 - slope * (before + 1)) * harmonic + slope * f)
        return ratio(level.sum(axis=1), h.sum(axis=1))

    def ball_precision(self, radius: int, empty: str = "zero") -> F64:
        """Precision within a radius, per query.

        Parameters
        ----------
        radius
            Largest distance that counts.
        empty
            Value of a query without any item within the radius: ``"zero"`` (default), ``"one"``, or ``"leave_out"``
            for NaN.
        """
        if empty not in EMPTY_BALLS:
            raise InvalidInputError(f"empty must be one of {', '.join(EMPTY_BALLS)}, got {empty!r}")
        self._need_common("count within a radius")
        found, hits = (part[:, : radius + 1].sum(axis=1) for part in (self.found, self.hits))
        precision = ratio(hits, found)
        if empty != "leave_out":
            precision[found == 0] = float(empty == "one")
        return precision

    def pooled_ball_precision(self, radius: int) -> float:
        """Precision of all pairs within a radius, pooled over the queries; 0 if there is no pair within it."""
        pooled = self.pooled()
        found, hits = (int(part[0, : radius + 1].sum()) for part in (pooled.found, pooled.hits))
        return hits / found if found else 0.0

    def hits_at(self, k: int) -> F64:
        """Expected number of relevant items among the k nearest, per query."""
        if not 1 <= k <= self.n_items:
            raise InvalidInputError(f"k must lie between 1 and the number of items, {self.n_items}, got {k}")
        before = self.found.cumsum(axis=1) - self.found
        taken = np.clip(k - before, 0, self.found)
        expected: F64 = (self.hits * (taken / np.maximum(self.found, 1))).sum(axis=1)
        return expected

    def precision_at(self, k: int) -> F64:
        """Expected precision of the k nearest, per query."""
        return self.hits_at(k) / k

    def recall_at(self, k: int) -> F64:
        """Expected recall of the k nearest, per query; NaN for a query without relevant items."""
        return ratio(self.hits_at(k), self.n_relevant)

    def ndcg(self, k: int | None = None) -> F64:
        """Expected NDCG of the ``k`` nearest per query, see [`ndcg`][rankhash.evaluation.ndcg]; default None: all."""
        k = self.n_items if k is None else k
        best = discounts(min(k, self.n_items))[np.minimum(self.n_relevant, k)]
        return ratio(discounted(self.found, self.hits, k), best)

    def _need_common(self, what: str) -> None:
        if not self.common:
            raise InvalidInputError(
                f"cannot {what}: these are real-valued distances, ranked separately for each query; "
                "call the function of the same name in rankhash.evaluation with distances and relevance"
            )

    def _need_relevant(self) -> None:
        if not self.hits.any():
            raise InvalidInputError(NO_RELEVANT)


NO_RELEVANT = "no query has a relevant item; use a larger radius, more neighbours or more items"


def count_codes(queries: U8, database: U8, layout: CodeLayout, truth: Truth) -> Counts:
    """Counts of all pairs of queries and codes by their number of differing symbols, in bounded memory.

    Parameters
    ----------
    queries, database
        Packed codes, ``(n_queries, n_bytes)`` and ``(n, n_bytes)``.
    layout
        The layout of both.
    truth
        Which codes are relevant to which query.

    Examples
    --------
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
    """Rows whose inner products count agreeing symbols: one-hot, or ±1 for bits. The float32 sums are exact."""
    if arity == 2:
        return symbols.astype(np.float32) * 2 - 1
    rows: F32 = np.eye(arity, dtype=np.float32)[symbols].reshape(len(symbols), -1)
    return rows


def checked(distances: Any, relevant: Any, kinds: str = "b") -> tuple[Array, Array]:
    """Both as arrays of one shape, after checking that a metric can be computed from them."""
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


def levels_of(distances: Array) -> tuple[I64, bool]:
    """A level ≥ 0 for every distance, equal for equal distances; and whether level r is the distance r."""
    if distances.dtype.kind in "iu" and distances.min() >= 0 and distances.max() < MAX_LEVELS:
        return distances.astype(np.int64), True
    order = np.argsort(distances, axis=1, kind="stable")
    ascending = np.take_along_axis(distances, order, axis=1)
    ranks = np.zeros(distances.shape, np.int64)
    ranks[:, 1:] = (ascending[:, 1:] > ascending[:, :-1]).cumsum(axis=1)
    levels = np.empty_like(ranks)
    np.put_along_axis(levels, order, ranks, axis=1)
    return levels, False


def tally(levels: I64, chosen: Flags | None = None, n_levels: int | None = None) -> I64:
    """Number of items per row and level; only of those in ``chosen``, if given."""
    n_levels = int(levels.max()) + 1 if n_levels is None else n_levels
    places = levels + np.arange(len(levels))[:, None] * n_levels
    places = places.ravel() if chosen is None else places[chosen]
    return np.bincount(places, minlength=len(levels) * n_levels).reshape(len(levels), n_levels)


def discounts(n: int) -> F64:
    """Σ 1 / log2(place + 1) over the first 0, 1, …, n places."""
    return np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(2, n + 2)))])


def discounted(found: I64, gains: Array, k: int) -> F64:
    """Expected discounted gain of the first k items, per query: tied items share the discounts of their places."""
    after = found.cumsum(axis=1)
    total = discounts(min(k, int(after.max(initial=0))))
    places = total[np.minimum(after, k)] - total[np.minimum(after - found, k)]
    gain: F64 = (gains / np.maximum(found, 1) * places).sum(axis=1)
    return gain


def ratio(part: Array, whole: Array) -> F64:
    """part / whole; NaN where the whole is 0."""
    part, whole = np.broadcast_arrays(part, whole)
    share: F64 = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole != 0)
    return share


def _wide(counts: I64, width: int) -> I64:
    return np.pad(counts, ((0, 0), (0, width - counts.shape[1])))

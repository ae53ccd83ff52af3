"""Pairs from distances: two points are similar if their distance is below one radius for all points."""

from __future__ import annotations

import warnings
from functools import cached_property

import numpy as np

from .._types import F32, F64, I8, I32, I64
from ..errors import InvalidInputError
from ._base import PairSource, random_pairs, without_selves
from .classes import draw_dissimilar

MAX_EXACT_POINTS = 4096
"""Up to this number of points, the radius is exact; above, it is estimated from SEED_POINTS random points."""

SEED_POINTS = 2048
"""Random points whose distances to all points give the radius."""

REFERENCES, MIN_RANK = 4096, 4
"""Local scales are distances to one of this many random reference points, at least to the MIN_RANK-th nearest."""

MIN_LOCAL_SCALE = 0.05
"""Lower limit of local scales, relative to their mean; duplicates of a point would have the scale 0."""

BLOCK_FLOATS, MIN_BLOCK_ROWS = 1 << 20, 8
"""Entries of a block of distances, and its smallest number of rows."""

TIE_PAIRS, MAX_SIMILAR = 10_000, 0.99
"""If more than the fraction MAX_SIMILAR of TIE_PAIRS random pairs is similar, the vectors are refused as equal."""

MAX_TIES = 4
"""Pairs at the radius are kept up to this multiple of the wanted number of pairs."""

SPREAD_PAIRS = 20_000
"""Similar pairs whose mean squared distance is measured."""

ROUNDING = 1e-6
"""Relative margin of the radius, so that the pair that defines it is inside."""


class MetricNeighbors(PairSource):
    """Points are similar if their Euclidean distance is at most ``radius``.

    The radius is such that a point has ``n_neighbors`` similar points on average. Up to 4096 points it is exact. Above,
    it comes from the distances of 2048 random points to all points, and every drawn similar pair contains one of the
    2048. Distances are computed in blocks, never as an array of n × n.

    One radius gives points in dense regions hundreds of neighbours, and points in sparse regions none. Two points are
    *locally close* if d² / (r r') is small, with d their distance and r, r' their local scales: the distance to their
    ``n_neighbors``-th neighbour. As many pairs are locally close as are similar.

    With ``one_length`` (False by default) the vectors had equal lengths before dimensions were dropped. Pairs are then
    compared by 2 (R² - x·y) instead of |x - y|², with R the largest length.

    >>> source = MetricNeighbors(np.float32([[0], [1], [5], [6], [20]]), 1, np.random.default_rng(0))
    >>> round(source.radius, 3), source.n_similar, source.n_dissimilar
    (1.0, 2.0, 8.0)
    """

    is_metric = True

    def __init__(
        self,
        vectors: F32,
        n_neighbors: int,
        rng: np.random.Generator,
        *,
        one_length: bool = False,
    ) -> None:
        self.vectors = vectors
        self.n_points = n = len(vectors)
        self.n_neighbors = n_neighbors = _possible(n_neighbors, n)
        self._lengths = squared_lengths(vectors)
        self._lost_squares = self._lengths.max() - self._lengths if one_length else None
        if self._lost_squares is not None:
            self._lengths += self._lost_squares
        self._local_rng = rng.spawn(1)[0]
        exact = n <= MAX_EXACT_POINTS
        seeds = np.arange(n) if exact else np.sort(rng.choice(n, SEED_POINTS, replace=False))
        self._similar = self._closest(seeds, n_neighbors, exact)
        self.radius = float(np.sqrt(self._apart(self._similar).max())) * (1 + ROUNDING)
        total = n * (n - 1) / 2
        self.n_similar = len(self._similar) * (1.0 if exact else n / SEED_POINTS / 2)
        self.n_dissimilar = total - self.n_similar
        if self.labels_of(random_pairs(rng, TIE_PAIRS, n)).mean() > MAX_SIMILAR:
            raise InvalidInputError(
                "nearly all vectors are equally far apart, so that none can be told from its neighbours; "
                "are they all the same?"
            )

    def labels_of(self, pairs: I32) -> I8:
        """1 where the distance is at most the radius."""
        return (self._apart(pairs) <= self.radius * self.radius).astype(np.int8)

    def labels_among(self, rows: I64) -> I8:
        """1 where the distance is at most the radius, up to rounding."""
        return without_selves(self._apart_among(rows) <= self.radius * self.radius, rows)

    def both_among(self, rows: I64) -> tuple[I8, I8]:
        """The labels of ``labels_among``, and labels that are 1 where two points are locally close."""
        squares, scales = self._apart_among(rows), self._local_scales[rows]
        labels = without_selves(squares <= self.radius * self.radius, rows)
        squares /= scales
        squares /= scales[:, None]
        return labels, without_selves(squares <= self._local_square, rows)

    def squares_to(self, queries: F32, rows: I64) -> F32:
        """Squared distances of ``queries`` to the points ``rows``; up to a constant with ``one_length``."""
        squares: F32 = queries @ self.vectors[rows].T
        squares *= -2
        if self._lost_squares is None:
            squares += self._lengths[rows]
            squares += squared_lengths(queries)[:, None]
        return squares

    @cached_property
    def spread(self) -> float:
        """√(mean squared distance of similar pairs / 2d): the standard deviation of similar points along an axis."""
        pairs = self._similar[:: -(-len(self._similar) // SPREAD_PAIRS)]
        return float(np.sqrt(squared_distances(self.vectors, pairs).mean() / (2 * self.vectors.shape[1])))

    @cached_property
    def _local_scales(self) -> F32:
        return local_scales(self.vectors, self._lengths, self.n_neighbors, self._local_rng)

    @cached_property
    def _local_square(self) -> float:
        rows = np.sort(self._local_rng.choice(self.n_points, min(SEED_POINTS, self.n_points), replace=False))
        squares = self._apart_among(rows) / self._local_scales[rows] / self._local_scales[rows, None]
        return float(np.quantile(squares[np.triu_indices(len(rows), 1)], self.similar_rate))

    def subset(self, rows: I64) -> MetricNeighbors:
        """The neighbours among some of the points, with a radius of their own."""
        rng, one_length = np.random.default_rng(0), self._lost_squares is not None
        return MetricNeighbors(self.vectors[rows], self.n_neighbors, rng, one_length=one_length)

    def _apart(self, pairs: I32) -> F64:
        """The squared distance of each pair; with ``one_length``, that before dimensions were dropped."""
        squares = squared_distances(self.vectors, pairs)
        return (
            squares if self._lost_squares is None else squares + self._lost_squares[pairs].sum(axis=1, dtype=np.float64)
        )

    def _apart_among(self, rows: I64) -> F32:
        points, lengths = self.vectors[rows], self._lengths[rows]
        squares: F32 = points @ points.T
        squares *= -2
        squares += lengths
        squares += lengths[:, None]
        return squares

    def _closest(self, seeds: I64, n_neighbors: int, exact: bool) -> I32:
        """The closest pairs of a seed point and any point: n_neighbors per point on average, and ties.

        Matrix products find candidates, with room for their rounding. Distances that are summed pair by pair choose
        among them, so that the pairs do not depend on the kernels of BLAS.
        """
        keep = max(1, len(seeds) * n_neighbors // (2 if exact else 1))
        doubt = self._lengths * np.float32(4 * (self.vectors.shape[1] + 4) * np.finfo(np.float32).eps)
        lows, highs, found = np.empty(0, np.float32), np.empty(0, np.float32), np.empty((0, 2), np.int32)
        limit, step = np.float32(np.inf), max(MIN_BLOCK_ROWS, BLOCK_FLOATS // self.n_points)
        for start in range(0, len(seeds), step):
            rows = seeds[start : start + step]
            block = self._lower_bounds(rows, doubt, exact)
            if len(lows) < keep < block.size:
                limit = np.partition((block + doubt[rows, None] + doubt).ravel(), keep)[keep]
            firsts, seconds = np.nonzero((block <= limit) & (block < np.inf))
            pairs = np.stack([rows[firsts], seconds], axis=1).astype(np.int32)
            lows = np.concatenate([lows, block[firsts, seconds]])
            highs = np.concatenate([highs, block[firsts, seconds] + doubt[pairs].sum(axis=1)])
            found = np.concatenate([found, pairs])
            if len(lows) > (2 * keep if start + step < len(seeds) else keep):
                limit = np.partition(highs, keep - 1)[keep - 1]
                kept = np.flatnonzero(lows <= limit)[: MAX_TIES * keep]
                lows, highs, found = lows[kept], highs[kept], found[kept]
        squares = self._apart(found)
        if len(squares) <= keep:
            return found
        return found[np.flatnonzero(squares <= np.partition(squares, keep - 1)[keep - 1])]

    def _lower_bounds(self, rows: I64, doubt: F32, exact: bool) -> F32:
        """Lower bounds of the squared distances of some points to all; infinite for pairs that do not count."""
        shorter = self._lengths - doubt / 2
        block: F32 = shorter[rows, None] + shorter - 2 * (self.vectors[rows] @ self.vectors.T)
        block[np.arange(len(rows)), rows] = np.inf
        if exact:
            block[rows[:, None] > np.arange(self.n_points)] = np.inf
        return block

    def _draw_similar(self, rng: np.random.Generator, size: int) -> I32:
        drawn: I32 = self._similar[rng.integers(0, len(self._similar), size)]
        return drawn

    def _draw_dissimilar(self, rng: np.random.Generator, size: int) -> I32:
        return draw_dissimilar(self, rng, size)


def squared_lengths(vectors: F32) -> F32:
    """The squared length of each row."""
    lengths: F32 = np.einsum("ij,ij->i", vectors, vectors)
    return lengths


def local_scales(vectors: F32, lengths: F32, n_neighbors: int, rng: np.random.Generator) -> F32:
    """The distance of each point to its ``n_neighbors``-th neighbour, relative to the mean of these distances.

    It is estimated from the distances to 4096 random reference points.
    """
    n = len(vectors)
    references = np.sort(rng.choice(n, min(REFERENCES, n), replace=False))
    rank = min(max(MIN_RANK, round(n_neighbors * len(references) / n)), len(references) - 1)
    near = np.empty(n, np.float32)
    step = max(1, BLOCK_FLOATS // len(references))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        squares = lengths[rows, None] + lengths[references] - 2 * (vectors[rows] @ vectors[references].T)
        squares[references == np.arange(n)[rows, None]] = np.inf
        near[rows] = np.partition(squares, rank - 1, axis=1)[:, rank - 1]
    wide = np.sqrt(np.maximum(near, 0))
    mean = wide.mean(dtype=np.float64)
    if not mean > 0:
        return np.ones(n, np.float32)
    scales: F32 = np.maximum(wide / np.float32(mean), np.float32(MIN_LOCAL_SCALE))
    return scales


def within_radius(vectors: F32, pairs: I32, radius: float) -> I8:
    """1 for each pair of rows whose distance is at most ``radius``, 0 for the others."""
    return (squared_distances(vectors, pairs) <= radius * radius).astype(np.int8)


def squared_distances(vectors: F32, pairs: I32) -> F64:
    """The squared distance of each pair of rows."""
    squares = np.empty(len(pairs))
    step = max(1, BLOCK_FLOATS // vectors.shape[1])
    for start in range(0, len(pairs), step):
        part = pairs[start : start + step]
        apart = vectors[part[:, 0]] - vectors[part[:, 1]]
        squares[start : start + step] = np.einsum("ij,ij->i", apart, apart)
    return squares


def _possible(n_neighbors: int, n: int) -> int:
    """``n_neighbors``, reduced with a warning if more than half of the pairs would be similar."""
    if n < 3:
        raise InvalidInputError(
            f"neighbours can be told from others among 3 vectors or more, got n_samples={n}; pass y or similarity"
        )
    most = max(1, (n - 1) // 2)
    if n_neighbors > most:
        warnings.warn(
            f"n_neighbors={n_neighbors} is too many among {n} vectors; {most} are used", UserWarning, stacklevel=2
        )
    return min(n_neighbors, most)

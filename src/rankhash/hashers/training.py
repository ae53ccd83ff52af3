"""From the arguments of ``fit`` to centred, scaled training points and labelled pairs, for all methods.

::

    Training (X, y, similarity) ─▶ known_pairs: a PairSource, or None
                                ─▶ labelled_points: at most max_points rows, (x - center) / scale, with their PairSource
                                     ─▶ TrainingPoints.pool: PairPool, a fixed set of labelled pairs to draw from
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _kernels
from .._ranking import some_pairs
from .._types import F32, I32, I64, U8, Flags
from ..errors import InvalidInputError
from ..similarity import GivenPairs, PairSource, label_source
from ..vectors import VectorBatches
from ._features.reduced import neighbors_among

MIN_POOL, MAX_POOL, POOL_PER_POINT = 200_000, 2_000_000, 10
"""Pairs in a pool: POOL_PER_POINT · n_points, at least MIN_POOL, at most MAX_POOL."""

MAX_NATURAL = 500_000
"""Largest number of pairs in a pool at the natural rate: all pairs of 1000 points."""

SMALLEST_SPREAD = 1e-6
"""Vectors whose largest deviation from the centre is below this fraction of the centre's largest entry are equal."""

CHUNK_ROWS = 4096
"""Rows whose squares are summed in float64 at once."""

CONSTANT = "all vectors are the same, so that there is nothing to tell apart; is X constant?"


@dataclass(frozen=True)
class Training:
    """The arguments of ``fit``: the vectors and the given similarity."""

    vectors: VectorBatches
    y: Any
    similarity: Any

    @property
    def is_labelled(self) -> bool:
        """Whether classes or pairs were given."""
        return self.y is not None or self.similarity is not None

    def known_pairs(self, owner: str) -> PairSource | None:
        """The source of the given classes or pairs; None without any. ``owner`` names the method in errors."""
        if self.vectors.n_rows < 2:
            raise InvalidInputError(f"{owner} learns from pairs, but there is 1 sample: n_samples=1")
        return label_source(self.y, self.similarity, self.vectors.n_rows)


@dataclass(frozen=True)
class TrainingPoints:
    """A sample of the training vectors, centred and scaled, and the source of their labelled pairs.

    Attributes
    ----------
    rows : ndarray (n,)
        Their row numbers in the training set, ascending.
    x : ndarray (n, d)
        ``(vectors - center) / scale``.
    center : ndarray (d,)
        The mean of all training vectors, or zeros.
    scale : float
        The root of the mean squared length of the centred vectors.
    source : PairSource
        The labelled pairs, as indexes into ``rows``.
    """

    rows: I64
    x: F32
    center: F32
    scale: float
    source: PairSource

    def pool(self, rng: np.random.Generator) -> PairPool:
        """A pool of labelled pairs, 10 per point, from 200 000 to 2 000 000."""
        size = int(np.clip(POOL_PER_POINT * len(self.x), MIN_POOL, MAX_POOL))
        return PairPool(self.x, self.center, self.scale, *self.source.pool(rng, size))

    def natural_pool(self, rng: np.random.Generator) -> PairPool:
        """All known pairs, or 500 000 random ones if there are more: both kinds at their natural rate."""
        if isinstance(self.source, GivenPairs):
            kept = sample_rows(rng, len(self.source.keys), MAX_NATURAL)
            drawn, known = self.source.pairs[kept], self.source.labels[kept].astype(np.int8)
        else:
            drawn = some_pairs(rng, len(self.x), MAX_NATURAL)
            known = self.source.labels_of(drawn)
        order = np.argsort(-known, kind="stable")[: int((known >= 0).sum())]
        pairs, labels = drawn[order], known[order].astype(np.uint8)
        if not 0 < labels.sum() < len(labels):
            raise InvalidInputError("pairs at their natural rate hold only one kind; give more labels or n_neighbors")
        return PairPool(self.x, self.center, self.scale, pairs, labels)


@dataclass(frozen=True)
class PairPool:
    """Training points ``x`` and labelled pairs ``(t, 2)`` of them, the similar pairs first."""

    x: F32
    center: F32
    scale: float
    pairs: I32
    labels: U8

    @property
    def n_similar(self) -> int:
        """Number of similar pairs in the pool."""
        return int(self.labels.sum())

    @property
    def similar_rate(self) -> float:
        """Fraction of the pairs in the pool that are similar."""
        return self.n_similar / len(self.labels)

    def draw(self, rng: np.random.Generator, size: int, similar_share: float) -> tuple[I32, U8]:
        """``size`` random pairs with their labels; each is similar with probability ``similar_share``."""
        similar = rng.random(size) < similar_share
        drawn = np.where(
            similar,
            rng.integers(0, self.n_similar, size),
            rng.integers(self.n_similar, len(self.pairs), size),
        )
        return self.pairs[drawn], similar.astype(np.uint8)

    def agreement(self, weights: F32) -> Flags:
        """Whether the two points of each pair get the same symbol from the projections ``weights`` ``(arity, d)``."""
        symbols = winners(self.x, weights)
        agree: Flags = symbols[self.pairs[:, 0]] == symbols[self.pairs[:, 1]]
        return agree


def winners(x: F32, weights: F32) -> U8:
    """The symbol of each point: the largest of its projections on the weights ``(arity, d)``."""
    symbols: U8 = _kernels.inner_products(x, weights).argmax(axis=1).astype(np.uint8)
    return symbols


def labelled_points(
    training: Training,
    owner: str,
    rng: np.random.Generator,
    max_points: int,
    n_neighbors: int,
    *,
    centered: bool = True,
    frame: tuple[F32, float] | None = None,
    sample_given: bool = False,
) -> TrainingPoints:
    """At most ``max_points`` training points, with pairs from labels, given pairs, or else their distances.

    Parameters
    ----------
    training
        The arguments of ``fit``.
    owner
        The name of the method, for errors.
    rng
        The generator of the sample and of the search for neighbours.
    max_points
        Size of the sample, drawn at random from larger training sets.
    n_neighbors
        Without labels: mean number of points that a point is similar to.
    centered
        Whether the mean of all vectors is subtracted; True by default.
    frame
        Centre and scale of an earlier fit; None (the default) measures them.
    sample_given
        Whether vectors of given pairs are sampled as well; False (the default) keeps all vectors then.
    """
    data, known = training.vectors, training.known_pairs(owner)
    rows = np.arange(data.n_rows)
    if known is None or not known.is_partial:
        rows = sample_rows(rng, data.n_rows, max_points)
    elif sample_given:
        rows = known.labelled_rows()
        rows = rows[sample_rows(rng, len(rows), max_points)]
    center, scale = (data_center(data, centered=centered), None) if frame is None else frame
    x, scale = center_and_scale(data, rows, center, scale)
    if known is None:
        return TrainingPoints(rows, x, center, scale, neighbors_among(x, n_neighbors, rng, scale))
    return TrainingPoints(rows, x, center, scale, pairs_among(known, rows))


def pairs_among(known: PairSource, rows: I64) -> PairSource:
    """The source for a sample of the training vectors; raises unless it has pairs of both kinds."""
    source = known if len(rows) == known.n_points else known.subset(rows)
    source.require_both_kinds("the sample of max_points vectors is too small for classes or pairs this rare")
    return source


def new_generator(rng: np.random.RandomState) -> np.random.Generator:
    """A generator that is seeded by a RandomState."""
    return np.random.default_rng(rng.randint(0, 2**31 - 1, size=4))


def sample_rows(rng: np.random.Generator | np.random.RandomState, n: int, most: int) -> I64:
    """All row numbers below ``n``, or ``most`` random ones if there are more, ascending."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False)).astype(np.int64)


def take_rows(data: VectorBatches, rows: I64) -> F32:
    """Some rows as checked vectors."""
    return data.take(rows)


def data_center(data: VectorBatches, *, centered: bool) -> F32:
    """The mean of all vectors, or zeros; either way all vectors are checked."""
    if centered:
        return data.mean()
    data.check()
    return np.zeros(data.n_features, np.float32)


def center_and_scale(data: VectorBatches, rows: I64, center: F32, scale: float | None = None) -> tuple[F32, float]:
    """The points ``(vectors - center) / scale`` of some rows, and the scale.

    ``scale`` None, the default, takes the root of the mean squared length of the centred vectors.
    """
    points = data.whole() if len(rows) == data.n_rows else take_rows(data, rows)
    with np.errstate(over="ignore"):
        points = points - center
    largest = float(max(points.max(), -points.min()))
    if not np.isfinite(largest):
        raise InvalidInputError("X must fit into float32 after centring; scale it down")
    if largest <= SMALLEST_SPREAD * float(np.abs(center).max(initial=0.0)) or largest == 0:
        raise InvalidInputError(CONSTANT)
    if scale is None:
        chunks = (points[start : start + CHUNK_ROWS] for start in range(0, len(points), CHUNK_ROWS))
        total = sum(np.square(chunk / np.float32(largest), dtype=np.float64).sum() for chunk in chunks)
        scale = largest * float(np.sqrt(total / len(points)))
    points /= np.float32(scale)
    return points, scale

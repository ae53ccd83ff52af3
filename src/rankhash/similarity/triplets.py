"""Triplets of points from labelled pairs: the first point is similar to the second and dissimilar to the third."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from .._types import F64, I32, I64, Flags
from ..errors import InvalidInputError
from ._base import DISSIMILAR, PairSource
from .classes import draw_until
from .given import GivenPairs

MAX_TRIES = 64
"""Largest number of candidates that are drawn at once for the third point: 2 / the fraction of dissimilar pairs."""


class Triplets:
    """Random triplets from any source of labelled pairs.

    The first two points are a random similar pair, in random order; the third is a random point that is dissimilar to
    the first. Of given pairs, only those are used whose points have a dissimilar partner.

    Parameters
    ----------
    source
        The labelled pairs: classes, neighbours or given pairs.

    Examples
    --------
    >>> from rankhash.similarity import ClassLabels
    >>> triplets = Triplets(ClassLabels(np.array([0, 0, 1, 1, 1])))
    >>> drawn = triplets.sample(np.random.default_rng(0), 100)
    >>> drawn.shape, bool(((drawn[:, 0] < 2) == (drawn[:, 1] < 2)).all())
    ((100, 3), True)
    >>> bool(((drawn[:, 0] < 2) == (drawn[:, 2] < 2)).any())
    False
    """

    def __init__(self, source: PairSource) -> None:
        self.source = source
        self._given = _GivenTriplets(source) if isinstance(source, GivenPairs) else None

    def sample(self, rng: np.random.Generator, size: int) -> I32:
        """Random triplets ``(size, 3)``.

        Raises
        ------
        InvalidInputError
            If hardly any point has both a similar and a dissimilar partner.
        """
        if self._given is not None:
            return self._given.sample(rng, size)

        def draw(wanted: int) -> I32:
            pairs = self.source.sample(rng, wanted, similar_share=1.0)[0]
            turned = np.where(rng.random((wanted, 1)) < 0.5, pairs, pairs[:, ::-1])
            third, apart = self._thirds(rng, turned[:, 0], n_tries)
            chosen = np.take_along_axis(third, apart.argmax(axis=1)[:, None], axis=1)
            triplets: I32 = np.concatenate([turned, chosen], axis=1)[apart.any(axis=1)].astype(np.int32)
            return triplets

        n_tries = int(np.clip(2 / max(1 - self.source.similar_rate, 1e-9), 1, MAX_TRIES))

        return draw_until(draw, size, "part of a triplet", width=3)

    def with_negatives(self, rng: np.random.Generator, size: int, n_negatives: int) -> I32:
        """Random triplets with several third points, ``(size, 2 + n_negatives)``.

        The further ones are random points that are dissimilar to the first; a draw that is not dissimilar is replaced
        by the third point.
        """
        triplets = self.sample(rng, size)
        if n_negatives == 1:
            return triplets
        if self._given is not None:
            more = [self._given.partners(rng, triplets[:, 0]) for _ in range(n_negatives - 1)]
            return np.concatenate([triplets, np.stack(more, axis=1)], axis=1).astype(np.int32)
        third, apart = self._thirds(rng, triplets[:, 0], n_negatives - 1)
        return np.concatenate([triplets, np.where(apart, third, triplets[:, 2:])], axis=1)

    def _thirds(self, rng: np.random.Generator, first: I32, n: int) -> tuple[I32, Flags]:
        """``n`` random points per first point, and whether they are others than it and dissimilar to it."""
        third = rng.integers(0, self.source.n_points, (len(first), n)).astype(np.int32)
        ends = np.stack([np.repeat(first, n), third.ravel()], axis=1)
        apart: Flags = (ends[:, 0] != ends[:, 1]) & (self.source.labels_of(ends) == DISSIMILAR)
        return third, apart.reshape(third.shape)


class _GivenTriplets:
    """Triplets of given pairs: the similar pairs whose first point has dissimilar partners, and those partners."""

    def __init__(self, source: GivenPairs) -> None:
        pairs, n = source.pairs, source.n_points
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
        similar = np.tile(source.labels == 1, 2)
        apart = pairs[~similar]
        self._partners = csr_array((np.ones(len(apart), np.int8), (apart[:, 0], apart[:, 1])), shape=(n, n))
        self._counts: I64 = np.diff(self._partners.indptr).astype(np.int64)
        self._pairs = pairs[similar][self._counts[pairs[similar][:, 0]] > 0]
        if not len(self._pairs):
            raise InvalidInputError(
                "no vector occurs in a similar and in a dissimilar pair, so that there is no triplet to learn from; "
                "mark more pairs"
            )

    def sample(self, rng: np.random.Generator, size: int) -> I32:
        drawn = self._pairs[rng.integers(0, len(self._pairs), size)]
        return np.column_stack([drawn, self.partners(rng, drawn[:, 0])]).astype(np.int32)

    def partners(self, rng: np.random.Generator, points: I32) -> I32:
        """A random dissimilar partner of each point."""
        place: F64 = rng.random(len(points)) * self._counts[points]
        partners: I32 = self._partners.indices[self._partners.indptr[points] + place.astype(np.int64)]
        return partners

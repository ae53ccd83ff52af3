"""The contract of all sources of labelled pairs: :class:`PairSource`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
I8 = NDArray[np.int8]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

SIMILAR, DISSIMILAR, UNKNOWN = 1, 0, -1


class PairSource(ABC):
    """Labelled pairs of points to learn from: which two are similar, which are not.

    Pairs are never listed in full; they are drawn. A pair never joins a point with itself, and its order
    means nothing.

    Attributes
    ----------
    n_points : int
        Points that the pairs refer to: rows 0 to n_points - 1.
    n_similar, n_dissimilar : float
        How many pairs there are of each kind, exactly or as an estimate.
    """

    n_points: int
    n_similar: float
    n_dissimilar: float

    @abstractmethod
    def labels_of(self, pairs: I32) -> I8:
        """1 for each of the pairs ``(t, 2)`` that is similar, 0 for the others, -1 where it is unknown."""

    @abstractmethod
    def labels_among(self, rows: I64) -> I8:
        """The labels ``(m, m)`` of all pairs of the points ``rows``; -1 also for a point with itself."""

    @abstractmethod
    def subset(self, rows: I64) -> PairSource:
        """The source for some of the points only, numbered in the order of ``rows``."""

    @abstractmethod
    def _draw_similar(self, rng: np.random.Generator, size: int) -> I32:
        """``size`` similar pairs, each as likely as any other."""

    @abstractmethod
    def _draw_dissimilar(self, rng: np.random.Generator, size: int) -> I32:
        """``size`` dissimilar pairs, each as likely as any other."""

    @property
    def similar_rate(self) -> float:
        """The natural share of similar pairs among the known ones."""
        return self.n_similar / (self.n_similar + self.n_dissimilar)

    def sample(self, rng: np.random.Generator, size: int, similar_share: float | None = None) -> tuple[I32, U8]:
        """Pairs ``(size, 2)`` in random order and their labels ``(size,)``.

        ``similar_share`` is the share of similar ones; None draws them at their natural rate.
        """
        share = self.similar_rate if similar_share is None else similar_share
        n_similar = int(rng.binomial(size, min(max(share, 0.0), 1.0)))
        pairs = np.concatenate([self._draw_similar(rng, n_similar), self._draw_dissimilar(rng, size - n_similar)])
        labels = (np.arange(size) < n_similar).astype(np.uint8)
        order = rng.permutation(size)
        return pairs[order], labels[order]

    def pool(self, rng: np.random.Generator, size: int) -> tuple[I32, U8]:
        """At most ``size`` different pairs and their labels: all of them, if there are not many more.

        Up to a quarter are similar, however rare these are.
        """
        size = int(min(size, 8 * (self.n_similar + self.n_dissimilar)))
        wanted = max(self.similar_rate, min(0.25, self.n_similar * 2 / size))
        n_similar = int(np.clip(round(size * wanted), 1, size - 1))
        similar = self._distinct(self._draw_similar(rng, n_similar))
        dissimilar = self._distinct(self._draw_dissimilar(rng, size - n_similar))
        labels = np.repeat(np.array([1, 0], np.uint8), [len(similar), len(dissimilar)])
        return np.concatenate([similar, dissimilar]), labels

    def require_both_kinds(self, remedy: str) -> None:
        """Raise unless there is a similar and a dissimilar pair."""
        for kind, count in (("similar", self.n_similar), ("dissimilar", self.n_dissimilar)):
            if not count:
                raise InvalidInputError(f"there is no {kind} pair to learn from: {remedy}")

    def _distinct(self, pairs: I32) -> I32:
        keys = np.unique(pair_keys(pairs, self.n_points))
        return np.stack(np.divmod(keys, self.n_points), axis=1).astype(np.int32)


def pair_keys(pairs: NDArray[np.integer], n_points: int) -> I64:
    """One number a pair, the same for both of its orders."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys: I64 = low.astype(np.int64) * n_points + high
    return keys


def random_pairs(rng: np.random.Generator, size: int, n_points: int) -> I32:
    """Pairs of two different points, all equally likely."""
    first = rng.integers(0, n_points, size)
    second = rng.integers(0, n_points - 1, size)
    return np.stack([first, second + (second >= first)], axis=1).astype(np.int32)


def without_selves(labels: NDArray[Any], rows: I64) -> I8:
    """Labels ``(m, m)`` of the pairs of some rows, -1 where a point meets itself."""
    among = labels.astype(np.int8)
    among[rows[:, None] == rows] = UNKNOWN
    return among

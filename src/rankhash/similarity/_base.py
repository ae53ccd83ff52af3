"""The contract of all sources of labelled pairs: `PairSource`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import I8, I32, I64, U8
from ..errors import InvalidInputError

SIMILAR = 1
"""Label of a similar pair."""
DISSIMILAR = 0
"""Label of a dissimilar pair."""
UNKNOWN = -1
"""Label of a pair of which nothing is known."""


class PairSource(ABC):
    """Labelled pairs of points: which are similar, which are dissimilar.

    Pairs are drawn at random, never listed in full. A pair has two different points, in no order.

    Attributes
    ----------
    n_points : int
        Number of points that the pairs refer to: rows 0 to n_points - 1.
    n_similar, n_dissimilar : float
        Number of pairs of each kind, exact or estimated.
    is_metric : bool
        Whether labels follow from distances. Such a source has ``both_among``, and random points contain similar
        pairs at the rate ``similar_rate``.
    is_partial : bool
        Whether the label of most pairs is unknown, because single pairs were given.
    """

    n_points: int
    n_similar: float
    n_dissimilar: float
    is_metric: bool = False
    is_partial: bool = False

    @abstractmethod
    def labels_of(self, pairs: I32) -> I8:
        """The label of each pair ``(t, 2)``: 1 similar, 0 dissimilar, -1 unknown."""

    @abstractmethod
    def labels_among(self, rows: I64) -> I8:
        """The labels ``(m, m)`` of all pairs of the points ``rows``; -1 on the diagonal."""

    @abstractmethod
    def subset(self, rows: I64) -> PairSource:
        """The source restricted to some points, renumbered in the order of ``rows``."""

    def both_among(self, rows: I64) -> tuple[I8, I8]:
        """The labels ``(m, m)`` of similarity, and those of local closeness; only if ``is_metric``."""
        raise NotImplementedError

    def labelled_rows(self) -> I64:
        """The points that occur in a labelled pair, ascending."""
        return np.arange(self.n_points)

    @abstractmethod
    def _draw_similar(self, rng: np.random.Generator, size: int) -> I32:
        """``size`` similar pairs, each as likely as any other."""

    @abstractmethod
    def _draw_dissimilar(self, rng: np.random.Generator, size: int) -> I32:
        """``size`` dissimilar pairs, each as likely as any other."""

    @property
    def similar_rate(self) -> float:
        """Fraction of the known pairs that are similar."""
        return self.n_similar / (self.n_similar + self.n_dissimilar)

    def sample(self, rng: np.random.Generator, size: int, similar_share: float | None = None) -> tuple[I32, U8]:
        """Pairs ``(size, 2)`` in random order and their labels ``(size,)``.

        Each pair is similar with probability ``similar_share``; None, the default, takes ``similar_rate``.
        """
        share = self.similar_rate if similar_share is None else similar_share
        n_similar = int(rng.binomial(size, min(max(share, 0.0), 1.0)))
        pairs = np.concatenate([self._draw_similar(rng, n_similar), self._draw_dissimilar(rng, size - n_similar)])
        labels = (np.arange(size) < n_similar).astype(np.uint8)
        order = rng.permutation(size)
        return pairs[order], labels[order]

    def pool(self, rng: np.random.Generator, size: int) -> tuple[I32, U8]:
        """At most ``size`` distinct pairs and their labels, the similar ones first.

        A quarter of them is similar, or all similar pairs if these are fewer; more only at a higher ``similar_rate``.
        """
        size = int(min(size, 8 * (self.n_similar + self.n_dissimilar)))
        wanted = max(self.similar_rate, min(0.25, self.n_similar * 2 / size))
        n_similar = int(np.clip(round(size * wanted), 1, size - 1))
        similar = self._distinct(self._draw_similar(rng, n_similar))
        dissimilar = self._distinct(self._draw_dissimilar(rng, size - n_similar))
        labels = np.repeat(np.array([1, 0], np.uint8), [len(similar), len(dissimilar)])
        return np.concatenate([similar, dissimilar]), labels

    def require_both_kinds(self, remedy: str) -> None:
        """Raise unless there is a similar and a dissimilar pair; ``remedy`` ends the message."""
        for kind, count in (("similar", self.n_similar), ("dissimilar", self.n_dissimilar)):
            if not count:
                raise InvalidInputError(f"there is no {kind} pair to learn from: {remedy}")

    def _distinct(self, pairs: I32) -> I32:
        keys = np.unique(pair_keys(pairs, self.n_points))
        return np.stack(np.divmod(keys, self.n_points), axis=1).astype(np.int32)


def pair_keys(pairs: NDArray[np.integer], n_points: int) -> I64:
    """One key per pair, independent of the order of its points."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys: I64 = low.astype(np.int64) * n_points + high
    return keys


def random_pairs(rng: np.random.Generator, size: int, n_points: int) -> I32:
    """Uniformly random pairs of two different points."""
    first = rng.integers(0, n_points, size)
    second = rng.integers(0, n_points - 1, size)
    return np.stack([first, second + (second >= first)], axis=1).astype(np.int32)


def without_selves(labels: NDArray[Any], rows: I64) -> I8:
    """Labels ``(m, m)`` of the pairs of some rows, with -1 for a point and itself."""
    among = labels.astype(np.int8)
    among[rows[:, None] == rows] = UNKNOWN
    return among

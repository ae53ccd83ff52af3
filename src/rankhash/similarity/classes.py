"""Pairs from class labels: two points are similar if they share a class, or any of their labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from .._types import I8, I32, I64
from ..errors import InvalidInputError
from ._base import PairSource, random_pairs, without_selves

MAX_TRIES = 50
"""Largest number of rounds of rejection sampling."""

ESTIMATE_PAIRS = 200_000
"""Up to this number of pairs, similar ones are counted; of more, a sample of this size gives an estimate."""


def class_source(y: Any, n_points: int) -> PairSource:
    """The source for class labels ``(n,)`` or a label indicator matrix ``(n, n_labels)``.

    >>> source = class_source(["a", "b", "a"], 3)
    >>> source.n_similar, source.n_dissimilar
    (1.0, 2.0)
    """
    array = np.asarray(y.toarray() if issparse(y) else y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2) or len(array) != n_points:
        raise InvalidInputError(
            f"y must hold one label per vector, or one row of label indicators, for {n_points} vectors; "
            f"got the shape {array.shape}"
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise InvalidInputError("y must not hold NaN; leave out the vectors whose class is not known")
    source: PairSource = ClassLabels(_numbered(array)) if array.ndim == 1 else LabelSets(_indicators(array))
    source.require_both_kinds("y has only one class" if not source.n_dissimilar else "no two vectors share a class")
    return source


def _numbered(labels: NDArray[Any]) -> I64:
    try:
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise InvalidInputError(f"y must hold labels of one kind, numbers or text: {error}") from error


def _indicators(array: NDArray[Any]) -> NDArray[np.bool_]:
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise InvalidInputError("y with several columns must be a label indicator matrix of 0 and 1")
    return array.astype(bool)


class ClassLabels(PairSource):
    """Points are similar if they are of one class, numbered 0, 1, …"""

    def __init__(self, classes: I64) -> None:
        self.classes = classes
        self.n_points = n = len(classes)
        self._order = np.argsort(classes, kind="stable")
        self._sizes = np.bincount(classes)
        self._starts = np.cumsum(self._sizes) - self._sizes
        self.n_similar = float((self._sizes * (self._sizes - 1.0)).sum() / 2)
        self.n_dissimilar = n * (n - 1) / 2 - self.n_similar

    def labels_of(self, pairs: I32) -> I8:
        """1 where both points are of one class."""
        classes = self.classes[pairs]
        return np.equal(classes[:, 0], classes[:, 1]).astype(np.int8)

    def labels_among(self, rows: I64) -> I8:
        """1 where both points are of one class."""
        classes = self.classes[rows]
        return without_selves(classes[:, None] == classes, rows)

    def subset(self, rows: I64) -> ClassLabels:
        """The classes of some points."""
        return ClassLabels(np.unique(self.classes[rows], return_inverse=True)[1])

    def _draw_similar(self, rng: np.random.Generator, size: int) -> I32:
        counts = self._sizes * (self._sizes - 1.0)
        drawn = _choose(rng, counts, size)
        first = rng.integers(0, self._sizes[drawn])
        second = rng.integers(0, self._sizes[drawn] - 1)
        members = np.stack([first, second + (second >= first)], axis=1) + self._starts[drawn, None]
        pairs: I32 = self._order[members].astype(np.int32)
        return pairs

    def _draw_dissimilar(self, rng: np.random.Generator, size: int) -> I32:
        others = self.n_points - self._sizes
        drawn = _choose(rng, self._sizes * (others * 1.0), size)
        first = rng.integers(0, self._sizes[drawn]) + self._starts[drawn]
        second = rng.integers(0, others[drawn])
        second += np.where(second >= self._starts[drawn], self._sizes[drawn], 0)
        pairs: I32 = self._order[np.stack([first, second], axis=1)].astype(np.int32)
        return pairs


class LabelSets(PairSource):
    """Points are similar if they have a label in common; ``indicators`` is ``(n_points, n_labels)``."""

    def __init__(self, indicators: NDArray[np.bool_]) -> None:
        self.indicators = indicators
        self.n_points = n = len(indicators)
        self._members = [np.flatnonzero(column) for column in indicators.T]
        self._sizes = np.array([len(members) for members in self._members])
        total = n * (n - 1) / 2
        if total <= ESTIMATE_PAIRS:
            counts = indicators.astype(np.float32) @ indicators.T.astype(np.float32)
            self.n_similar = float(np.count_nonzero(np.triu(counts, 1)))
        else:
            pairs = random_pairs(np.random.default_rng(0), ESTIMATE_PAIRS, n)
            self.n_similar = round(float(self.labels_of(pairs).mean()) * total)
            self.n_similar = max(self.n_similar, float((self._sizes > 1).any()))
        self.n_dissimilar = total - self.n_similar

    def labels_of(self, pairs: I32) -> I8:
        """1 where both points have a label in common."""
        return (self._shared(pairs) > 0).astype(np.int8)

    def labels_among(self, rows: I64) -> I8:
        """1 where both points have a label in common."""
        sets = self.indicators[rows].astype(np.float32)
        return without_selves(sets @ sets.T > 0, rows)

    def subset(self, rows: I64) -> LabelSets:
        """The labels of some points."""
        return LabelSets(self.indicators[rows])

    def _shared(self, pairs: I32) -> I64:
        shared = np.empty(len(pairs), np.int64)
        step = max(1, (1 << 24) // self.indicators.shape[1])
        for start in range(0, len(pairs), step):
            part = pairs[start : start + step]
            both = self.indicators[part[:, 0]] & self.indicators[part[:, 1]]
            shared[start : start + step] = both.sum(axis=1)
        return shared

    def _draw_similar(self, rng: np.random.Generator, size: int) -> I32:
        """Two members of a random label; a pair with m common labels is kept with probability 1/m."""

        def draw(wanted: int) -> I32:
            drawn = _choose(rng, self._sizes * (self._sizes - 1.0), wanted)
            pairs = np.empty((wanted, 2), np.int32)
            for label in np.unique(drawn):
                places = np.flatnonzero(drawn == label)
                chosen = random_pairs(rng, len(places), int(self._sizes[label]))
                pairs[places] = self._members[label][chosen]
            kept: I32 = pairs[rng.random(wanted) * self._shared(pairs) < 1]
            return kept

        return draw_until(draw, size, "similar")

    def _draw_dissimilar(self, rng: np.random.Generator, size: int) -> I32:
        return draw_dissimilar(self, rng, size)


def draw_until(draw: Callable[[int], I32], size: int, kind: str, width: int = 2) -> I32:
    """``size`` pairs (rows of ``width`` 2) by rejection sampling: ``draw(n)`` returns at most n of them."""
    parts: list[I32] = [np.empty((0, width), np.int32)]
    missing = size
    for _ in range(MAX_TRIES):
        if missing <= 0:
            break
        parts.append(draw(max(64, 2 * missing))[:missing])
        missing -= len(parts[-1])
    else:
        raise InvalidInputError(f"hardly any pair is {kind}: nothing can be learned from such labels")
    return np.concatenate(parts)


def draw_dissimilar(source: PairSource, rng: np.random.Generator, size: int) -> I32:
    """``size`` dissimilar pairs of a source, by rejection sampling from all pairs."""

    def draw(wanted: int) -> I32:
        pairs = random_pairs(rng, wanted, source.n_points)
        apart: I32 = pairs[source.labels_of(pairs) == 0]
        return apart

    return draw_until(draw, size, "dissimilar")


def _choose(rng: np.random.Generator, weights: NDArray[np.float64], size: int) -> I64:
    """Indices drawn in proportion to the weights."""
    edges = np.cumsum(weights)
    drawn: I64 = np.searchsorted(edges, rng.random(size) * edges[-1], side="right")
    return np.minimum(drawn, np.flatnonzero(weights)[-1]) if size else drawn

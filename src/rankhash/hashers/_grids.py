"""Batches for joint learning: some points and the labels of all pairs among them.

::

    few points ─▶ all of them, every time
    neighbours ▶ random ones, with what is similar and what is close for where it is
    other ─────▶ groups of a point and some that are similar to it ─▶ similar pairs inside, dissimilar ones across

If pairs are given, or of many classes, hardly two of a batch of random points are similar. Groups bring enough similar
pairs; a dissimilar pair inside a group is no usual one, and is left out, so that those across are as in all of the
data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..similarity import GivenPairs, MetricNeighbors, PairSource
from ._base import U8
from ._objectives import AS_SIMILAR, CLOSE_ONLY, LEFT_OUT, SIMILAR_ONLY

I8 = NDArray[np.int8]
I64 = NDArray[np.int64]

GROUP = 4
"""Points of a group."""

POOL = 100_000
"""Similar pairs that groups are made of."""


@dataclass(frozen=True)
class Grid:
    """Points and the labels ``(m, m)`` of their pairs, as objectives take them."""

    rows: I64
    labels: U8

    @property
    def plain(self) -> U8:
        """The labels without what is told of closeness: 1, 0 or LEFT_OUT."""
        plain: U8 = AS_SIMILAR[self.labels]
        return plain


class Grids:
    """Draws batches of about ``size`` points from a source of labelled pairs.

    >>> from ..similarity import ClassLabels
    >>> grids = Grids(ClassLabels(np.arange(100) % 50), 40, np.random.default_rng(0))
    >>> grid = grids.draw()
    >>> grids.whole, len(grid.rows) <= 40, bool((grid.labels == 1).any(axis=1).mean() > 0.4)
    (False, True, True)
    """

    def __init__(self, source: PairSource, size: int, rng: np.random.Generator) -> None:
        self._source, self._size, self._rng = source, size, rng
        self.whole = source.n_points <= size
        """Whether every batch is all there is."""
        self.share = min(1.0, size / source.n_points)
        """A batch's share of all points."""
        if self.whole:
            everything = np.arange(source.n_points)
            self._all = Grid(everything, _labels(source, everything))
        elif not isinstance(source, MetricNeighbors):
            self._partners = _Partners(source, rng)

    def draw(self) -> Grid:
        """The next batch."""
        if self.whole:
            return self._all
        if isinstance(self._source, MetricNeighbors):
            rows = np.sort(self._rng.choice(self._source.n_points, self._size, replace=False, shuffle=False))
            return Grid(rows, _joined(*self._source.both_among(rows)))
        return self._groups()

    def _groups(self) -> Grid:
        given = isinstance(self._source, GivenPairs)
        n_groups = max(1, self._size // (2 * GROUP if given else GROUP))
        points = self._partners.groups(self._rng, n_groups).ravel()
        group = np.repeat(np.arange(n_groups), GROUP)
        if given:  # of what is not given nothing is known: bring dissimilar pairs as well
            apart = self._source.sample(self._rng, n_groups * GROUP // 2, 0.0)[0].ravel()
            points = np.concatenate([points, apart])
            group = np.arange(len(points))
        rows, first = np.unique(points, return_index=True)
        labels = _labels(self._source, rows)
        labels[(group[first][:, None] == group[first]) & (labels == 0)] = LEFT_OUT
        return Grid(rows, labels)


class _Partners:
    """Which points are similar to which, from a pool of pairs."""

    def __init__(self, source: PairSource, rng: np.random.Generator) -> None:
        pairs = source.sample(rng, POOL, 1.0)[0]
        both = np.concatenate([pairs, pairs[:, ::-1]])
        order = np.argsort(both[:, 0], kind="stable")
        self._others = both[order, 1].astype(np.int64)
        self._ends = np.searchsorted(both[order, 0], np.arange(source.n_points + 1))
        self._points = both[order, 0].astype(np.int64)

    def groups(self, rng: np.random.Generator, n_groups: int) -> I64:
        """Points ``(n_groups, GROUP)``: one in proportion to its pairs, and others that are similar to it."""
        seeds = self._points[rng.integers(0, len(self._points), n_groups)]
        starts, counts = self._ends[seeds], self._ends[seeds + 1] - self._ends[seeds]
        drawn = starts[:, None] + (rng.random((n_groups, GROUP - 1)) * counts[:, None]).astype(np.int64)
        return np.concatenate([seeds[:, None], self._others[drawn]], axis=1)


def _labels(source: PairSource, rows: I64) -> U8:
    return _known(source.labels_among(rows))


def _joined(similar: I8, close: I8) -> U8:
    """One array of labels for two."""
    labels = _known(similar)
    labels[(similar == 0) & (close == 1)] = CLOSE_ONLY
    labels[(similar == 1) & (close == 0)] = SIMILAR_ONLY
    return labels


def _known(labels: I8) -> U8:
    known: U8 = np.minimum(labels.view(np.uint8), np.uint8(LEFT_OUT))
    return known

"""Mini-batches for joint learning: some points and the labels of all pairs among them.

::

    few points ──────────▶ all of them in every step
    metric neighbours ───▶ random points, with labels of similarity and of local closeness
    classes, given pairs ▶ groups of a point and some that are similar to it

With given pairs or many classes, hardly two of some random points are similar. Groups contain enough similar pairs.
Dissimilar pairs inside a group are not representative and are ignored, so that the dissimilar pairs of a mini-batch are
distributed as in the training set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import I64, U8
from ...similarity import PairSource
from .labels import DISSIMILAR, IGNORED, SIMILARITY, joint_labels, pair_labels

GROUP_SIZE = 4
"""Points per group."""

PARTNER_PAIRS = 100_000
"""Similar pairs from which groups are drawn."""


@dataclass(frozen=True)
class Batch:
    """Points and the labels ``(m, m)`` of their pairs."""

    rows: I64
    labels: U8

    @property
    def similarity(self) -> U8:
        """The labels without local closeness: SIMILAR, DISSIMILAR or IGNORED."""
        labels: U8 = SIMILARITY[self.labels]
        return labels


class BatchSampler:
    """Draws mini-batches of about ``size`` points from a source of labelled pairs.

    >>> from ...similarity import ClassLabels
    >>> sampler = BatchSampler(ClassLabels(np.arange(100) % 50), 40, np.random.default_rng(0))
    >>> batch = sampler.draw()
    >>> sampler.full, len(batch.rows) <= 40, bool((batch.labels == 1).any(axis=1).mean() > 0.4)
    (False, True, True)
    """

    def __init__(self, source: PairSource, size: int, rng: np.random.Generator) -> None:
        self._source, self._size, self._rng = source, size, rng
        self.full = source.n_points <= size
        """Whether every batch holds all points."""
        self.share = min(1.0, size / source.n_points)
        """Fraction of all points in a batch."""
        if self.full:
            everything = np.arange(source.n_points)
            self._all = Batch(everything, pair_labels(source.labels_among(everything)))
        elif not source.is_metric:
            self._partners = _Partners(source, rng)

    def draw(self) -> Batch:
        """The next batch."""
        if self.full:
            return self._all
        if self._source.is_metric:
            rows = np.sort(self._rng.choice(self._source.n_points, self._size, replace=False, shuffle=False))
            return Batch(rows, joint_labels(*self._source.both_among(rows)))
        return self._draw_groups()

    def _draw_groups(self) -> Batch:
        partial = self._source.is_partial
        n_groups = max(1, self._size // (2 * GROUP_SIZE if partial else GROUP_SIZE))
        points = self._partners.groups(self._rng, n_groups).ravel()
        group = np.repeat(np.arange(n_groups), GROUP_SIZE)
        if partial:  # pairs across groups are unknown: half of the points are of given dissimilar pairs
            apart = self._source.sample(self._rng, n_groups * GROUP_SIZE // 2, 0.0)[0].ravel()
            points = np.concatenate([points, apart])
            group = np.arange(len(points))
        rows, first = np.unique(points, return_index=True)
        labels = pair_labels(self._source.labels_among(rows))
        labels[(group[first][:, None] == group[first]) & (labels == DISSIMILAR)] = IGNORED
        return Batch(rows, labels)


class _Partners:
    """The similar points of each point, from a sample of similar pairs."""

    def __init__(self, source: PairSource, rng: np.random.Generator) -> None:
        pairs = source.sample(rng, PARTNER_PAIRS, 1.0)[0]
        both = np.concatenate([pairs, pairs[:, ::-1]])
        order = np.argsort(both[:, 0], kind="stable")
        self._others = both[order, 1].astype(np.int64)
        self._ends = np.searchsorted(both[order, 0], np.arange(source.n_points + 1))
        self._points = both[order, 0].astype(np.int64)

    def groups(self, rng: np.random.Generator, n_groups: int) -> I64:
        """Points ``(n_groups, GROUP_SIZE)``: a seed, in proportion to its pairs, and points similar to it."""
        seeds = self._points[rng.integers(0, len(self._points), n_groups)]
        starts, counts = self._ends[seeds], self._ends[seeds + 1] - self._ends[seeds]
        drawn = starts[:, None] + (rng.random((n_groups, GROUP_SIZE - 1)) * counts[:, None]).astype(np.int64)
        return np.concatenate([seeds[:, None], self._others[drawn]], axis=1)

"""Mini-batches of items with a row in every view, and the labels of all pairs of rows across the views."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import I64, U8
from ...similarity import PairSource
from .._joint.batches import BatchSampler
from .._joint.labels import IGNORED, SIMILAR, pair_labels


@dataclass(frozen=True)
class ViewBatch:
    """Items, and the labels ``(v m, v m)`` of their rows in v views, one view below another; 4 within a view."""

    rows: I64
    labels: U8


class ViewSampler:
    """Draws mini-batches of about ``size`` items for ``n_views`` views.

    >>> from .training import SelfPairs
    >>> ViewSampler(SelfPairs(2), 2, 8, np.random.default_rng(0)).draw().labels.tolist()
    [[4, 4, 1, 0], [4, 4, 0, 1], [1, 0, 4, 4], [0, 1, 4, 4]]
    """

    def __init__(self, source: PairSource, n_views: int, size: int, rng: np.random.Generator) -> None:
        self._source, self._n_views, self._size, self._rng = source, n_views, size, rng
        self.full = source.n_points <= size
        """Whether every batch holds all items."""
        self._grouped = BatchSampler(source, size, rng) if source.n_similar else None
        self._all = self._next() if self.full else None

    @property
    def counts(self) -> tuple[float, float]:
        """Number of dissimilar and of similar pairs across two views."""
        return 2 * self._source.n_dissimilar, 2 * self._source.n_similar + self._source.n_points

    def draw(self) -> ViewBatch:
        """The next batch."""
        return self._next() if self._all is None else self._all

    def _next(self) -> ViewBatch:
        if self._grouped is None:
            n = self._source.n_points
            rows = np.arange(n) if self.full else self._rng.choice(n, self._size, replace=False, shuffle=False)
            among = pair_labels(self._source.labels_among(rows))
        else:
            batch = self._grouped.draw()
            rows, among = batch.rows, batch.labels.copy()
        np.fill_diagonal(among, SIMILAR)
        m = len(rows)
        labels = np.tile(among, (self._n_views, self._n_views))
        for start in range(0, len(labels), m):
            labels[start : start + m, start : start + m] = IGNORED
        return ViewBatch(rows, labels)

"""Objectives for the neighbours of many points: each point's own come first, and what is far stays far."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from ._base import F32, U8
from ._objectives import WIDE, AveragePrecision

NEARNESS = 0.125
"""The agreement that makes a point e times as near, in roots of the number of symbols."""

WIDE_SHARE = 0.05
WIDE_WEIGHT = 10.0
"""The share of all pairs that are not far from each other, and what ranking them first counts."""


class NearestFirst:
    """The mean over points of log p for those similar to them, p = e / (e + the sum of all dissimilar ones' e).

    With e = exp(agreement / width), -log p is about log(1 + how many dissimilar points come before a similar one), so
    that being the 2nd instead of the 20th counts as much as the 20th instead of the 200th. Dissimilar points of a
    batch stand for those of all ``n_points``. Unlike the average precision of all pairs it does not ask for the same
    distances in dense and in sparse regions.
    """

    def __init__(self, n_symbols: int, n_points: int) -> None:
        self._n_points = n_points
        self._width = np.float32(NEARNESS * np.sqrt(n_symbols))

    def slopes(self, agreement: F32, labels: U8, progress: float) -> tuple[float, F32]:  # noqa: ARG002
        """See :class:`Objective`."""
        near, others = agreement, (labels == 0) | (labels == WIDE)
        near /= self._width
        first, second = np.nonzero(labels == 1)
        wanted = near[first, second]
        near[~others] = -np.inf
        top = np.maximum(near.max(axis=1, initial=-np.inf), np.float32(0))
        near -= top[:, None]
        np.exp(near, out=near)
        sums = np.maximum(near.sum(axis=1), np.finfo(np.float32).tiny)
        stand_for = self._n_points / np.maximum(others.sum(axis=1), 1)
        behind = (np.log(sums * stand_for) + top)[first] - wanted  # the log of (all dissimilar ones' e) / e
        n_similar = np.bincount(first, minlength=len(labels))
        weight = (1 / np.maximum(n_similar, 1) / max(1, int((n_similar > 0).sum())))[first]
        value = -float(np.logaddexp(0, behind) @ weight)
        missed = weight * expit(behind)
        near *= (-np.bincount(first, missed, len(labels)) / sums).astype(np.float32)[:, None]
        near[first, second] = missed
        near /= self._width
        slopes: F32 = near + near.T
        return value, slopes


class NearAndWide:
    """:class:`NearestFirst`, and the average precision of the pairs that are not far from each other, similar or WIDE.

    The former looks at each point's surroundings only; the latter keeps codes of far points apart everywhere by the
    same measure.
    """

    def __init__(self, n_symbols: int, n_points: int, n_threads: int) -> None:
        self._near = NearestFirst(n_symbols, n_points)
        counts = 1 - WIDE_SHARE, WIDE_SHARE
        self._wide = AveragePrecision(n_symbols, counts, whole=False, n_threads=n_threads)

    def slopes(self, agreement: F32, labels: U8, progress: float) -> tuple[float, F32]:
        """See :class:`Objective`."""
        close = np.where(labels == WIDE, np.uint8(1), labels)
        wide, slopes = self._wide.slopes(agreement.copy(), close, progress)
        near, added = self._near.slopes(agreement, labels, progress)
        slopes *= np.float32(WIDE_WEIGHT)
        slopes += added
        return near + WIDE_WEIGHT * wide, slopes

"""What a joint learner makes large: objectives of the agreement of all pairs of a batch, with their gradients.

::

    agreement (n, n), labels (n, n) ─▶ value, slopes (n, n) = how the value changes with the agreement of each pair

Labels are 1 for similar pairs, 0 for dissimilar ones, and LEFT_OUT for a point with itself and for unknown pairs.
Where it is also told which are close for where they are, 1 is for pairs that are both, and 0 for neither; CLOSE_ONLY
are close but dissimilar, SIMILAR_ONLY similar but not close.
Average precision and likelihood depend on the two histograms of the agreement only, so that the slopes of all pairs
come from two small tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from scipy.ndimage import gaussian_filter1d

from .. import _kernels
from ._base import F32, F64, U8

LEFT_OUT, CLOSE_ONLY, SIMILAR_ONLY = 2, 3, 4
AS_SIMILAR: U8 = np.array([0, 1, LEFT_OUT, 0, 1], np.uint8)
AS_CLOSE: U8 = np.array([0, 1, LEFT_OUT, 1, 0], np.uint8)
"""What each label says of similarity alone, and of closeness alone: 0, 1 or LEFT_OUT."""

N_BINS = 513
MEMORY = 0.9
"""What a batch's histograms keep of those before, if a batch is not all there is."""

SMOOTHING = 0.25
"""The width of the Gaussian over histograms for average precision, in roots of the number of symbols."""

CLOSE_WEIGHT, MAX_CLOSE_WEIGHT = 8.0, 2.0
"""What ranking close pairs first counts beside similar ones, over the root of the number of symbols, and at most: the
longer codes are, the more of the nearest they find anyway."""

RARE = 0.005
"""The share of similar pairs from which on close ones count less: most points then have similar ones."""

STEEPNESS = 4.0
"""How fast likelihood changes with the agreement, in inverse roots of the number of symbols."""

NEWTON_STEPS = 8
BALL_EDGE = 0.8
"""How far beyond the radius soft codes still count as inside: hard codes of other points will be further apart."""

EMPTY_BALL, EMPTY_POWER, LEAST_SHARE = 0.3, 3, 0.1
"""Neighbours that are missing from every ball, so that an empty one has precision 0, if a batch is all points; else
times this power of the batch's share, or of the least, since a small batch sees hardly anything of a ball."""


class Objective(Protocol):
    """Something to make large."""

    def slopes(self, agreement: F32, labels: U8, progress: float) -> tuple[float, F32]:
        """The value, and its change with the agreement of each pair; takes the agreement's memory.

        ``progress`` goes from 0 to 1 in the course of learning.
        """


class HistogramObjective(ABC):
    """An objective that depends on how the agreement of similar and of dissimilar pairs is distributed.

    Parameters
    ----------
    n_symbols
        The largest agreement.
    counts
        How many dissimilar and similar pairs there are in all. Batches may hold other shares of them.
    whole
        Whether a batch is all there is; if not, histograms are averages over batches.
    """

    def __init__(self, n_symbols: int, counts: tuple[float, float], *, whole: bool, n_threads: int) -> None:
        self._top, self._counts, self._n_threads = float(n_symbols), np.array(counts), n_threads
        self._memory = 0.0 if whole else MEMORY
        self._shares: F64 | None = None

    def slopes(self, agreement: F32, labels: U8, progress: float) -> tuple[float, F32]:  # noqa: ARG002
        """See :class:`Objective`."""
        found = _kernels.pair_histograms(agreement, labels, self._top, N_BINS, self._n_threads)
        totals = np.maximum(found.sum(axis=1, keepdims=True), 1)
        shares = found / totals
        known = totals[:, 0] > 1
        if self._shares is not None:
            shares = np.where(known[:, None], self._memory * self._shares + (1 - self._memory) * shares, self._shares)
        self._shares = shares
        value, rises = self._value(*(shares * self._counts[:, None]))
        rises *= (self._counts / totals[:, 0])[:, None]
        tables = np.zeros((2, N_BINS), np.float32)
        tables[:, :-1] = np.diff(rises, axis=1) * ((N_BINS - 1) / self._top)
        return value, _kernels.pair_slopes(agreement, labels, self._top, tables, self._n_threads)

    @abstractmethod
    def _value(self, dissimilar: F64, similar: F64) -> tuple[float, F64]:
        """The value for two histograms, and its derivatives ``(2, N_BINS)`` by their bins."""


class AveragePrecision(HistogramObjective):
    """The average precision of all pairs, ranked by their agreement, over histograms that are smoothed a little.

    With A and B the similar and dissimilar pairs of a bin and above, and p those similar pairs of the bin, it is
    Σ p A / (A + B) over Σ p. Smoothing keeps the number of pairs.
    """

    def __init__(self, n_symbols: int, counts: tuple[float, float], *, whole: bool, n_threads: int) -> None:
        super().__init__(n_symbols, counts, whole=whole, n_threads=n_threads)
        self._width = SMOOTHING * np.sqrt(n_symbols) * (N_BINS - 1) / n_symbols
        self._reach = self._smooth(np.ones(N_BINS))

    def _smooth(self, bins: F64) -> F64:
        smooth: F64 = gaussian_filter1d(bins, self._width, mode="constant")
        return smooth

    def _value(self, dissimilar: F64, similar: F64) -> tuple[float, F64]:
        spread = self._smooth(np.stack([dissimilar, similar]) / self._reach)
        value, by_similar, by_dissimilar = average_precision(spread[1], spread[0])
        return value, self._smooth(np.stack([by_dissimilar, by_similar])) / self._reach


def average_precision(similar: F64, dissimilar: F64) -> tuple[float, F64, F64]:
    """The average precision of histograms in ascending order of agreement, and its derivatives by their bins."""
    a, b = (np.cumsum(bins[::-1])[::-1] for bins in (similar, dissimilar))
    ranked = np.maximum(a + b, np.finfo(np.float64).tiny)
    total = max(similar.sum(), np.finfo(np.float64).tiny)
    value = float((similar * a / ranked).sum() / total)
    share = similar / ranked
    by_similar = (a / ranked + np.cumsum(share * (b / ranked)) - value) / total
    by_dissimilar = -np.cumsum(share * (a / ranked)) / total
    return value, by_similar, by_dissimilar


class SimilarAndClose:
    """The average precision of the similar pairs, and that of the pairs that are close for where they are.

    Of many points, most similar pairs are in dense regions; that codes tell those from all other pairs alike is what
    searches within a distance need. The nearest of a point in a sparse region are no similar pairs, but they are
    close: that codes find them is what searches for the nearest need.

    Parameters
    ----------
    n_symbols
        The largest agreement.
    share
        The share of all pairs that are similar, and of those that are close.
    """

    def __init__(self, n_symbols: int, share: float, n_threads: int) -> None:
        usual = min(CLOSE_WEIGHT / np.sqrt(n_symbols), MAX_CLOSE_WEIGHT)
        self.weight = usual * min(1.0, RARE / share)
        self._similar, self._close = (
            AveragePrecision(n_symbols, (1 - share, share), whole=False, n_threads=n_threads) for _ in range(2)
        )

    def slopes(self, agreement: F32, labels: U8, progress: float) -> tuple[float, F32]:
        """See :class:`Objective`."""
        similar, slopes = self._similar.slopes(agreement.copy(), AS_SIMILAR[labels], progress)
        close, added = self._close.slopes(agreement, AS_CLOSE[labels], progress)
        added *= np.float32(self.weight)
        slopes += added
        return similar + self.weight * close, slopes


class Likelihood(HistogramObjective):
    """The mean log-likelihood of the labels, both kinds weighing the same, for the best threshold b.

    A pair is similar with probability 1 / (1 + exp(-m (agreement - b))), with m in inverse roots of the symbols.
    """

    def __init__(self, n_symbols: int, counts: tuple[float, float], *, whole: bool, n_threads: int) -> None:
        super().__init__(n_symbols, counts, whole=whole, n_threads=n_threads)
        self._steepness = STEEPNESS / np.sqrt(n_symbols)
        self._at = np.linspace(0, n_symbols, N_BINS)
        self._threshold: float | None = None

    def _value(self, dissimilar: F64, similar: F64) -> tuple[float, F64]:
        totals = np.array([dissimilar.sum(), similar.sum()])
        low, high = dissimilar / totals[0], similar / totals[1]
        if self._threshold is None:
            self._threshold = float((low + high) @ self._at / 2)
        self._threshold = best_threshold(self._at, low, high, self._steepness, self._threshold)
        margin = self._steepness * (self._at - self._threshold)
        wrong = np.stack([np.logaddexp(0, margin), np.logaddexp(0, -margin)])
        return -float(wrong[0] @ low + wrong[1] @ high) / 2, -wrong / 2 / totals[:, None]


def best_threshold(at: F64, low: F64, high: F64, steepness: float, start: float) -> float:
    """The threshold at which the shares ``low`` and ``high`` of the places ``at`` are equally often wrong."""
    threshold = start
    for _ in range(NEWTON_STEPS):
        over = 1 / (1 + np.exp(-steepness * (at - threshold)))
        slope = steepness * float(over * (1 - over) @ (low + high))
        step = float(over @ low - (1 - over) @ high) / max(slope, 1e-12)
        threshold = float(np.clip(threshold + np.clip(step, -2 / steepness, 2 / steepness), at[0], at[-1]))
    return threshold


class BallPrecision:
    """The mean over points of the precision within a Hamming ball around them; an empty ball counts 0.

    A pair is inside with the probability 1 / (1 + exp((distance - radius) / width)), whose width shrinks in the
    course of learning until hardly anything but the ball's own edge is seen. ``share`` is that of a batch of all
    points.
    """

    def __init__(self, n_symbols: int, radius: int, widths: tuple[float, float], share: float = 1.0) -> None:
        self._edge = np.float32(n_symbols - radius - BALL_EDGE)
        self._widths = widths
        self._missing = np.float32(EMPTY_BALL * max(share, LEAST_SHARE) ** EMPTY_POWER)

    def slopes(self, agreement: F32, labels: U8, progress: float) -> tuple[float, F32]:
        """See :class:`Objective`."""
        first, last = self._widths
        width = np.float32(first * (last / first) ** progress)
        inside = agreement
        inside -= self._edge
        inside /= -width
        np.minimum(inside, np.float32(30), out=inside)
        np.exp(inside, out=inside)
        inside += 1
        np.reciprocal(inside, out=inside)
        inside[labels == LEFT_OUT] = 0
        similar = AS_SIMILAR[labels] == 1
        sizes = inside.sum(axis=1) + self._missing
        precision = np.einsum("ij,ij->i", inside, similar) / sizes
        weight, shift = 1 / sizes, precision / sizes
        slopes = np.where(similar, weight[:, None] + weight, np.float32(0))
        slopes -= shift[:, None] + shift
        slopes *= inside
        slopes *= 1 - inside
        slopes /= np.float32(width * len(agreement))
        return float(precision.mean()), slopes

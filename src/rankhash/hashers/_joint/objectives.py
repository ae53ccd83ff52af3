"""Objectives that the joint learner maximises: functions of the agreement of all pairs of a batch, with gradients.

::

    agreement (n, n), labels (n, n) ─▶ value, slopes (n, n) = derivative of the value by the agreement of each pair

Average precision and likelihood depend only on the two histograms of the agreement, of similar and of dissimilar pairs.
The slopes of all pairs then come from two small tables. Labels are those of ``labels``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from scipy.ndimage import gaussian_filter1d

from ... import _kernels
from ..._types import F32, F64, U8
from .batches import Batch
from .labels import CLOSENESS, DISSIMILAR, IGNORED, SIMILAR, SIMILARITY
from .soft_codes import SoftCodes

N_BINS = 513
"""Bins of a histogram of the agreement."""

MEMORY = 0.9
"""Decay of the running mean of histograms over mini-batches."""

SMOOTHING = 0.25
"""Standard deviation of the Gaussian that smooths histograms for average precision: 0.25 √n_symbols."""

CLOSE_WEIGHT, MAX_CLOSE_WEIGHT = 8.0, 2.0
"""Weight of the local-neighbour term: min(8 / √n_symbols, 2). Long codes find near neighbours without it."""

MAX_RARE_RATE = 0.005
"""Above this fraction r of similar pairs, the weight is multiplied by 0.005 / r, since most points then have similar
points."""

STEEPNESS = 4.0
"""Slope of the logistic function of the likelihood by default: 4 / √n_symbols."""

NEWTON_STEPS = 8
"""Newton steps to the best threshold of the likelihood."""

BALL_MARGIN = 0.8
"""Soft codes count as inside up to radius + 0.8, since hard codes of unseen points are further apart."""

PSEUDO_COUNT, SHARE_POWER, MIN_SHARE = 0.3, 3, 0.1
"""Pseudo-count in the denominator, so that an empty ball scores 0: 0.3 · max(share, 0.1)³, with share the fraction of
all points in a batch. A small batch contains only a small part of a ball."""


class Objective(Protocol):
    """A function of soft codes that is maximised."""

    def gradient(self, soft: SoftCodes, batch: Batch, progress: float) -> tuple[float, F32]:
        """The value for the points of a batch, and its derivative by their scores.

        ``progress`` rises from 0 to 1 in the course of learning.
        """


class PairObjective(ABC):
    """An objective that depends only on the agreement of the pairs of a batch and on their labels."""

    def gradient(self, soft: SoftCodes, batch: Batch, progress: float) -> tuple[float, F32]:
        """See ``Objective``."""
        value, slopes = self.slopes(soft.agreement(), batch.labels, progress)
        return value, soft.gradient(slopes)

    @abstractmethod
    def slopes(self, agreement: F32, labels: U8, progress: float) -> tuple[float, F32]:
        """The value, and its derivative by the agreement of each pair; overwrites the agreement."""


class HistogramObjective(PairObjective):
    """An objective of the histograms of the agreement of similar and of dissimilar pairs.

    Parameters
    ----------
    n_symbols
        The largest agreement.
    counts
        Number of dissimilar and of similar pairs in the training set. Batches may hold other fractions of them.
    full
        Whether a batch holds all points; if not, histograms are running means over batches.
    n_threads
        Threads of the kernels.
    """

    def __init__(self, n_symbols: int, counts: tuple[float, float], *, full: bool, n_threads: int) -> None:
        self._top, self._counts, self._n_threads = float(n_symbols), np.array(counts), n_threads
        self._memory = 0.0 if full else MEMORY
        self._shares: F64 | None = None

    def slopes(self, agreement: F32, labels: U8, progress: float) -> tuple[float, F32]:  # noqa: ARG002
        """See ``PairObjective``."""
        value, tables = self.tables(_kernels.pair_histograms(agreement, labels, self._top, N_BINS, self._n_threads))
        return value, _kernels.pair_slopes(agreement, labels, self._top, tables, self._n_threads)

    def tables(self, found: F64) -> tuple[float, F32]:
        """The value, and its derivative ``(2, N_BINS)`` by the agreement of a pair, for the histograms of a batch.

        Dissimilar pairs come first in both.
        """
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
        return value, tables

    @abstractmethod
    def _value(self, dissimilar: F64, similar: F64) -> tuple[float, F64]:
        """The value for two histograms, and its derivatives ``(2, N_BINS)`` by the bins."""


class AveragePrecision(HistogramObjective):
    """The average precision of all pairs ranked by their agreement, from smoothed histograms.

    It is Σ p A / (A + B) / Σ p over the bins, with p the similar pairs of a bin, and A and B the similar and dissimilar
    pairs of this bin and those above. Smoothing preserves the number of pairs.
    """

    def __init__(self, n_symbols: int, counts: tuple[float, float], *, full: bool, n_threads: int) -> None:
        super().__init__(n_symbols, counts, full=full, n_threads=n_threads)
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
    """The average precision of histograms by ascending agreement, and its derivatives by their bins."""
    a, b = (np.cumsum(bins[::-1])[::-1] for bins in (similar, dissimilar))
    ranked = np.maximum(a + b, np.finfo(np.float64).tiny)
    total = max(similar.sum(), np.finfo(np.float64).tiny)
    value = float((similar * a / ranked).sum() / total)
    share = similar / ranked
    by_similar = (a / ranked + np.cumsum(share * (b / ranked)) - value) / total
    by_dissimilar = -np.cumsum(share * (a / ranked)) / total
    return value, by_similar, by_dissimilar


class SimilarAndClose(PairObjective):
    """The average precision of similar pairs plus the weighted average precision of locally close pairs.

    Among many points, most similar pairs lie in dense regions: ranking them first serves searches within a radius. The
    nearest neighbours of a point in a sparse region are not similar but locally close: ranking them first serves
    searches for the nearest.

    Parameters
    ----------
    n_symbols
        The largest agreement.
    similar_rate
        Fraction r of all pairs that are similar, and of those that are locally close.
    n_threads
        Threads of the kernels.

    Attributes
    ----------
    weight : float
        Weight of the second term: min(8 / √n_symbols, 2) · min(1, 0.005 / r).
    """

    def __init__(self, n_symbols: int, similar_rate: float, n_threads: int) -> None:
        usual = min(CLOSE_WEIGHT / np.sqrt(n_symbols), MAX_CLOSE_WEIGHT)
        self.weight = usual * min(1.0, MAX_RARE_RATE / similar_rate)
        counts = 1 - similar_rate, similar_rate
        self._top, self._n_threads = float(n_symbols), n_threads
        self._similar, self._close = (
            AveragePrecision(n_symbols, counts, full=False, n_threads=n_threads) for _ in range(2)
        )

    def slopes(self, agreement: F32, labels: U8, progress: float) -> tuple[float, F32]:  # noqa: ARG002
        """See ``PairObjective``."""
        kinds = SIMILARITY[:IGNORED], CLOSENESS[:IGNORED]
        found = _kernels.pair_histograms(agreement, labels, self._top, N_BINS, self._n_threads, IGNORED)
        both = [np.stack([found[kind == wanted].sum(axis=0) for wanted in (DISSIMILAR, SIMILAR)]) for kind in kinds]
        similar, tables = self._similar.tables(both[0])
        close, close_tables = self._close.tables(both[1])
        tables = tables[kinds[0]] + np.float32(self.weight) * close_tables[kinds[1]]
        slopes = _kernels.pair_slopes(agreement, labels, self._top, tables, self._n_threads)
        return similar + self.weight * close, slopes


class Likelihood(HistogramObjective):
    """The mean log-likelihood of the labels at the best threshold b, with equal weight of both kinds of pairs.

    A pair is similar with probability 1 / (1 + exp(-m (agreement - b))), m = steepness / √n_symbols, 4 / √n_symbols by
    default. The lower m is, the less do pairs on the wrong side of b count that contradict all others.
    """

    def __init__(
        self, n_symbols: int, counts: tuple[float, float], *, full: bool, n_threads: int, steepness: float = STEEPNESS
    ) -> None:
        super().__init__(n_symbols, counts, full=full, n_threads=n_threads)
        self._steepness = steepness / np.sqrt(n_symbols)
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
    """The threshold at which equal fractions of dissimilar and of similar pairs are misclassified.

    ``low`` and ``high`` are the distributions of dissimilar and similar pairs over the agreements ``at``.
    """
    threshold = start
    for _ in range(NEWTON_STEPS):
        over = 1 / (1 + np.exp(-steepness * (at - threshold)))
        slope = steepness * float(over * (1 - over) @ (low + high))
        step = float(over @ low - (1 - over) @ high) / max(slope, 1e-12)
        threshold = float(np.clip(threshold + np.clip(step, -2 / steepness, 2 / steepness), at[0], at[-1]))
    return threshold


class BallPrecision(PairObjective):
    """The mean over points of the precision within a Hamming ball around them; an empty ball scores 0.

    A pair is inside with probability 1 / (1 + exp((distance - radius - 0.8) / width)). The width shrinks geometrically
    in the course of learning, from ``widths[0]`` to ``widths[1]``. ``share`` is the fraction of all points in a batch,
    1 by default.
    """

    def __init__(self, n_symbols: int, radius: int, widths: tuple[float, float], share: float = 1.0) -> None:
        self._edge = np.float32(n_symbols - radius - BALL_MARGIN)
        self._widths = widths
        self._pseudo_count = np.float32(PSEUDO_COUNT * max(share, MIN_SHARE) ** SHARE_POWER)

    def slopes(self, agreement: F32, labels: U8, progress: float) -> tuple[float, F32]:
        """See ``PairObjective``."""
        first, last = self._widths
        width = np.float32(first * (last / first) ** progress)
        inside = agreement
        inside -= self._edge
        inside /= -width
        np.minimum(inside, np.float32(30), out=inside)
        np.exp(inside, out=inside)
        inside += 1
        np.reciprocal(inside, out=inside)
        inside[labels == IGNORED] = 0
        similar = SIMILARITY[labels] == SIMILAR
        sizes = inside.sum(axis=1) + self._pseudo_count
        precision = np.einsum("ij,ij->i", inside, similar) / sizes
        weight, shift = 1 / sizes, precision / sizes
        slopes = np.where(similar, weight[:, None] + weight, np.float32(0))
        slopes -= shift[:, None] + shift
        slopes *= inside
        slopes *= 1 - inside
        slopes /= np.float32(width * len(agreement))
        return float(precision.mean()), slopes

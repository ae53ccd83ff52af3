"""The objective for the neighbours of many points, in dense and in sparse regions."""

from __future__ import annotations

import numpy as np

from ._base import F32, U8
from ._objectives import AS_CLOSE, AS_SIMILAR, AveragePrecision

CLOSE_WEIGHT, MAX_CLOSE_WEIGHT = 8.0, 2.0
"""What ranking close pairs first counts beside similar ones, over the root of the number of symbols, and at most: the
longer codes are, the more of the nearest they find anyway."""

RARE = 0.005
"""The share of pairs that are similar from which on they weigh less: then most points have some."""


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

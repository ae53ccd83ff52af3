"""Which objective is maximised: by the target, the kind of labels, and the number of points."""

from __future__ import annotations

from ... import _kernels
from ..._types import F32
from ...similarity import PairSource
from .batches import BatchSampler
from .objectives import AveragePrecision, BallPrecision, Likelihood, Objective, SimilarAndClose
from .regression import ClassRegression
from .schedule import CLASSES, Recipe

BALL_SOFTNESS, LAST_BALL_WIDTH = 16.0, 0.5
"""Width of a ball's soft edge: max(1, n_symbols / 16) at the first step, 0.5 at the last."""


def objective_for(
    recipe: Recipe,
    n_symbols: int,
    source: PairSource,
    sampler: BatchSampler,
    radius: int | None = None,
    posteriors: F32 | None = None,
) -> Objective:
    """The objective of a Hamming ball of this radius, or of ranking if ``radius`` is None (the default).

    ``posteriors`` are the class probabilities of the points; None by default.
    """
    if radius is not None:
        widths = max(1.0, n_symbols / BALL_SOFTNESS), LAST_BALL_WIDTH
        return BallPrecision(n_symbols, radius, widths, sampler.share if source.is_metric else 1.0)
    if posteriors is not None:
        return ClassRegression(posteriors)
    threads = _kernels.resolve_threads(None)
    if source.is_metric and not sampler.full:
        return SimilarAndClose(n_symbols, source.similar_rate, threads)
    kind = Likelihood if recipe is CLASSES else AveragePrecision
    counts = source.n_dissimilar, source.n_similar
    return kind(n_symbols, counts, full=sampler.full, n_threads=threads)

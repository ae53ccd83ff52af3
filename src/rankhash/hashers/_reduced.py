"""Neighbours of vectors that PCA has shortened: by which distance they are told.

Unit vectors lose length when PCA drops columns, and more so the worse they are represented. Among what is
left, the short ones look close to each other although they were not: of the closest 5 % of pairs of 40 principal
components of CIFAR-10 Gist two thirds are among the closest in 512 dimensions. A learner that follows its pairs closely
follows the others, too. If all vectors had the same length, those with the largest inner products were closest, and of
these pairs nine tenths are.
"""

from __future__ import annotations

import numpy as np

from ..similarity import MetricNeighbors
from ._base import F32

LENGTHS = 0.2, 1.05
"""What the lengths of reduced unit vectors are on average at least, and at most, but for being centred a little off."""

MAX_SPREAD = 0.1
"""Lengths vary by less than this share of their mean if they were equal before."""

MAX_CORRELATION = 0.05
"""The mean of principal components' correlations, up to the noise of 1000 points."""

N_POINTS = 1000


def neighbors_among(x: F32, n_neighbors: int, rng: np.random.Generator, scale: float) -> MetricNeighbors:
    """The neighbours among centred vectors that were divided by ``scale``, by inner products if they look reduced."""
    return MetricNeighbors(x, n_neighbors, rng, one_length=is_reduced(x, scale=scale))


def is_reduced(x: F32, center: F32 | float = 0.0, scale: float = 1.0) -> bool:
    """Whether vectors around a centre, times a scale, look like principal components of unit vectors."""
    points = x[:: -(-len(x) // N_POINTS)].astype(np.float64) - center
    lengths = scale * np.linalg.norm(points, axis=1)
    mean = lengths.mean()
    if mean < LENGTHS[0] or lengths.max() > LENGTHS[1] or lengths.std() > MAX_SPREAD * mean:
        return False
    moments = points.T @ points
    spread = np.sqrt(np.diag(moments))
    used = spread > 1e-6 * spread.max()
    if used.sum() < 2:
        return False
    correlations = (moments / np.outer(spread, spread).clip(1e-300))[np.ix_(used, used)]
    return bool(np.abs(correlations[np.triu_indices(len(correlations), 1)]).mean() < MAX_CORRELATION)

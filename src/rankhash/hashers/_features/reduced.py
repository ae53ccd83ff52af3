"""Neighbours among principal components of unit vectors, and the test that recognises such vectors.

PCA shortens unit vectors, and the more so the worse it represents them. Short vectors are then close to each other
although the unit vectors were not: of the closest 5 % of pairs of 40 principal components of CIFAR-10 Gist, two thirds
are among the closest 5 % in 512 dimensions. Among unit vectors, the closest pairs are those with the largest inner
products. Ranked by inner products of the components, nine tenths of the closest pairs are right.
"""

from __future__ import annotations

import numpy as np

from ..._types import F32
from ...similarity import MetricNeighbors

MIN_MEAN_LENGTH, MAX_LENGTH = 0.2, 1.05
"""Limits of the mean and of the largest length of reduced unit vectors; a centre slightly off makes some exceed 1."""

MAX_LENGTH_VARIATION = 0.1
"""Largest standard deviation of the lengths, relative to their mean."""

MAX_CORRELATION = 0.05
"""Largest mean absolute correlation of two columns: principal components are uncorrelated up to sampling noise."""

N_POINTS = 1000
"""Size of the sample that is tested."""


def neighbors_among(x: F32, n_neighbors: int, rng: np.random.Generator, scale: float) -> MetricNeighbors:
    """Neighbours among centred vectors that were divided by ``scale``; by inner products if they look reduced."""
    return MetricNeighbors(x, n_neighbors, rng, one_length=is_reduced(x, scale=scale))


def is_reduced(x: F32, center: F32 | float = 0.0, scale: float = 1.0) -> bool:
    """Whether the vectors ``(x - center) * scale`` look like principal components of unit vectors.

    ``center`` is 0 and ``scale`` 1 by default.
    """
    points = x[:: -(-len(x) // N_POINTS)].astype(np.float64) - center
    lengths = scale * np.linalg.norm(points, axis=1)
    mean = lengths.mean()
    if mean < MIN_MEAN_LENGTH or lengths.max() > MAX_LENGTH or lengths.std() > MAX_LENGTH_VARIATION * mean:
        return False
    moments = points.T @ points
    spread = np.sqrt(np.diag(moments))
    used = spread > 1e-6 * spread.max()
    if used.sum() < 2:
        return False
    correlations = (moments / np.outer(spread, spread).clip(1e-300))[np.ix_(used, used)]
    return bool(np.abs(correlations[np.triu_indices(len(correlations), 1)]).mean() < MAX_CORRELATION)

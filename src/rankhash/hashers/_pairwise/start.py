"""The scale of RSH's random start, which decides how far learning moves the projections.

A small start gives functions that fit the pairs well but resemble each other. A large start gives functions that stay
random and differ. With separation AUC = P(a similar pair is closer than a dissimilar one):

* metric = clip((AUC - 0.90) / 0.05, 0, 1), which is 0 for pairs that do not follow the distance, such as classes
* neighbors = clip(4.7 · clip(D, 8, 40)^-0.55 · (n_symbols / 8)^0.38, 0.6, 4), with D the effective dimension
* scale = 0.6^(1 - metric) · neighbors^metric

The constants were fitted to the average precision of test queries on two splits of seven sets at 8 to 128 symbols.
``benchmarks/quality/rsh_start.py`` checks them on other splits of six of these sets, without classes.
"""

from __future__ import annotations

import numpy as np

from ..._types import F32
from ...similarity import squared_distances
from ..training import PairPool

N_POINTS, N_PAIRS = 1000, 20_000
"""Points that give the effective dimension, and pairs of each kind that give the separation."""

CLASS_SCALE = 0.6
"""The scale for pairs that do not follow the distance."""

CLASS_SEPARATION, METRIC_SEPARATION = 0.90, 0.95
"""Separation up to which pairs count as classes, and from which they count as metric neighbours."""

FACTOR, DIMENSION_POWER, LENGTH_POWER = 4.7, -0.55, 0.38
MIN_DIMENSION, MAX_DIMENSION = 8, 40
MIN_SCALE, MAX_SCALE = 0.6, 4.0
"""Constants of the scale for metric neighbours."""


def start_scale(pool: PairPool, n_symbols: int) -> float:
    """The standard deviation of the random projections for these pairs and this code length."""
    low, high = CLASS_SEPARATION, METRIC_SEPARATION
    metric = float(np.clip((separation(pool) - low) / (high - low), 0, 1))
    neighbors = neighbor_scale(effective_dimension(pool.x), n_symbols)
    return float(CLASS_SCALE ** (1 - metric) * neighbors**metric)


def neighbor_scale(dimension: float, n_symbols: int) -> float:
    """The scale for pairs that follow the distance."""
    dimension = float(np.clip(dimension, MIN_DIMENSION, MAX_DIMENSION))
    scale = FACTOR * dimension**DIMENSION_POWER * (n_symbols / 8) ** LENGTH_POWER
    return float(np.clip(scale, MIN_SCALE, MAX_SCALE))


def effective_dimension(x: F32) -> float:
    """The participation ratio (Σλ)² / Σλ² of the eigenvalues of the second moments, from a sample of the points."""
    points = x[:: -(-len(x) // N_POINTS)].astype(np.float64)
    products = points @ points.T
    n = len(points)
    squares = (products**2).sum() - (np.diag(products) ** 2).sum()
    return float(np.diag(products).mean() ** 2 / max(squares / max(n * (n - 1), 1), 1e-12))


def separation(pool: PairPool) -> float:
    """The probability that a similar pair is closer than a dissimilar one."""
    n = pool.n_similar
    kinds = pool.pairs[:n], pool.pairs[n:]
    similar, dissimilar = (squared_distances(pool.x, pairs[:: -(-len(pairs) // N_PAIRS)]) for pairs in kinds)
    return float(1 - np.searchsorted(np.sort(dissimilar), similar).mean() / len(dissimilar))

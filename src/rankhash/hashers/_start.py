"""Where RSH starts: how large its random projections are, which decides how far learning moves them.

A small start gives functions that fit the pairs well and resemble each other, a large one functions that stay
random and differ. What is best was measured on seven sets at 8 to 128 symbols (``benchmarks/README.md``):

* pairs that follow the distance of the vectors, such as metric neighbours: larger for long codes, and for
  data of few dimensions, where functions soon repeat each other;
* pairs that do not, such as classes: small at any length.
"""

from __future__ import annotations

import numpy as np

from ..similarity import squared_distances
from ._base import F32
from ._pairs import Problem

N_POINTS, N_PAIRS = 1000, 20_000
CLASS_SCALE = 0.6
SEPARATED = 0.90, 0.95
"""Below the first separation pairs count as classes, above the second one as neighbours."""


def start_scale(problem: Problem, n_symbols: int) -> float:
    """The size of random projections that suits the pairs and the length of the code."""
    low, high = SEPARATED
    metric = float(np.clip((separation(problem) - low) / (high - low), 0, 1))
    neighbors = neighbor_scale(effective_dimension(problem.x), n_symbols)
    return float(CLASS_SCALE ** (1 - metric) * neighbors**metric)


def neighbor_scale(dimension: float, n_symbols: int) -> float:
    """The size for pairs that follow the distance."""
    scale = 4.7 * np.clip(dimension, 8, 40) ** -0.55 * (n_symbols / 8) ** 0.38
    return float(np.clip(scale, 0.6, 4.0))


def effective_dimension(x: F32) -> float:
    """The participation ratio (Σλ)² / Σλ² of the points' second moments, from products of some of them."""
    points = x[:: -(-len(x) // N_POINTS)].astype(np.float64)
    products = points @ points.T
    n = len(points)
    squares = (products**2).sum() - (np.diag(products) ** 2).sum()
    return float(np.diag(products).mean() ** 2 / max(squares / max(n * (n - 1), 1), 1e-12))


def separation(problem: Problem) -> float:
    """The probability that a similar pair is closer than a dissimilar one."""
    n = problem.n_similar
    kinds = problem.pairs[:n], problem.pairs[n:]
    similar, dissimilar = (squared_distances(problem.x, pairs[:: -(-len(pairs) // N_PAIRS)]) for pairs in kinds)
    return float(1 - np.searchsorted(np.sort(dissimilar), similar).mean() / len(dissimilar))

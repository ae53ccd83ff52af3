"""Centred training points of every view, for methods that learn linear projections in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import F32, F64, I64
from ..training import center_and_scale, sample_rows
from .projections import ViewProjections
from .training import ViewTraining


@dataclass(frozen=True)
class ViewPoints:
    """Points ``(n, d)`` of one view, ``(vectors - center) / scale``, of mean square 1 per row."""

    x: F64
    center: F32
    scale: float

    def projections(self, weights: F64) -> ViewProjections:
        """The projections of the view's vectors, from the weights ``(n_symbols, d)`` of points."""
        with np.errstate(over="ignore", under="ignore"):
            return ViewProjections((weights / self.scale).astype(np.float32), self.center, self.x.shape[1])


def view_points(training: ViewTraining, rng: np.random.RandomState, max_points: int) -> tuple[list[ViewPoints], I64]:
    """The points of every view, of at most ``max_points`` items, and the rows of these items."""
    rows = sample_rows(rng, training.n_items, max_points)
    parts = []
    for view in training.views:
        center = view.mean()
        x, scale = center_and_scale(view, rows, center)
        parts.append(ViewPoints(x.astype(np.float64), center, scale))
    return parts, rows


def inverse_root(covariance: F64, ridge: float) -> F64:
    """The symmetric (C + ridge · mean variance)^-½ of a covariance C."""
    variances, axes = np.linalg.eigh(covariance)
    variances = np.maximum(variances, 0) + max(ridge * variances.mean(), np.finfo(np.float64).tiny)
    root: F64 = (axes / np.sqrt(variances)) @ axes.T
    return root

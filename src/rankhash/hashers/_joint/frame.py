"""The coordinates of joint learning: principal components in units of the typical standard deviation.

::

    x ─▶ (x - center) · axes ─▶ divided by the typical standard deviation √(Σ v² / Σ v), v being the variances

Constants of learning then fit data of any scale. Distances are those of the vectors up to the scale, if there are at
most 512 dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import F32, F64
from ...errors import InvalidInputError
from ..training import CONSTANT, SMALLEST_SPREAD

MAX_AXES = 512
"""Largest number of principal axes; embeddings have little variance beyond them, and learning takes longer."""

MAX_SAMPLE = 32_768
"""Largest number of vectors whose covariance is measured."""

MIN_VARIANCE = 1e-10
"""Axes with a smaller variance, relative to the largest, are dropped."""


@dataclass(frozen=True)
class Frame:
    """Points are ``(x - center) @ axes.T`` with ``axes`` ``(k, d)`` of length 1 / scale; None: the axes of x."""

    center: F32
    axes: F32 | None
    scale: float

    @property
    def n_axes(self) -> int:
        """Number of coordinates of a point."""
        return len(self.center) if self.axes is None else len(self.axes)

    def points(self, vectors: F32) -> F32:
        """The coordinates ``(n, k)`` of vectors ``(n, d)``."""
        with np.errstate(over="ignore", invalid="ignore"):
            moved = vectors - self.center
            points: F32 = moved / np.float32(self.scale) if self.axes is None else moved @ self.axes.T
        return points

    def input_weights(self, weights: F32) -> F32:
        """Weights ``(rows, d)`` of centred vectors that equal the weights ``(rows, k)`` of points."""
        with np.errstate(over="ignore", under="ignore"):
            moved = weights.astype(np.float64)
            moved = moved / self.scale if self.axes is None else moved @ self.axes.astype(np.float64)
            return moved.astype(np.float32)


def measure_frame(vectors: F32, center: F32, *, principal: bool) -> Frame:
    """The frame of ``vectors`` ``(n, d)``, with principal axes or with the axes of the vectors.

    The scale makes the typical variance 1: the mean of the variances, each weighted by itself.
    """
    moved = vectors[:: -(-len(vectors) // MAX_SAMPLE)].astype(np.float64) - center
    largest = float(np.abs(moved).max(initial=0.0))
    if largest <= SMALLEST_SPREAD * float(np.abs(center).max(initial=0.0)) or largest == 0:
        raise InvalidInputError(CONSTANT)
    moved /= largest
    covariance: F64 = moved.T @ moved / len(moved)
    if not principal:
        scale = _storable_scale(largest * float(np.linalg.norm(covariance) / np.sqrt(np.trace(covariance))))
        return Frame(center, None, scale)
    variances, columns = np.linalg.eigh(covariance)
    kept = np.flatnonzero(variances > MIN_VARIANCE * variances.max())[::-1][:MAX_AXES]
    variances, axes = variances[kept], columns.T[kept]
    scale = _storable_scale(largest * float(np.linalg.norm(variances) / np.sqrt(variances.sum())))
    return Frame(center, (axes / scale).astype(np.float32), scale)


def _storable_scale(scale: float) -> float:
    """The scale, if float32 projections can be divided by it."""
    if not 1e-30 < scale < 1e30:
        raise InvalidInputError(f"X spreads by {scale:g}, which float32 projections cannot undo; scale it")
    return scale

"""The coordinates that joint learning works in: principal axes, at a scale that makes its constants fit any data.

::

    x ─▶ (x - center) · axes ─▶ divided by the usual deviation along a direction

Distances are those of the vectors up to the scale, unless there are more than MAX_AXES dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InvalidInputError
from ._base import F32, F64

MAX_AXES = 512
"""Axes that are kept: what embeddings vary in beyond them is little, and learning takes longer."""

SAMPLE = 32_768
"""Points whose covariance is measured."""


@dataclass(frozen=True)
class Frame:
    """Points are ``(x - center) @ turn.T``, with ``turn`` ``(k, d)``; None stands for a multiple of the identity."""

    center: F32
    turn: F32 | None
    scale: float

    def points(self, vectors: F32) -> F32:
        """The coordinates ``(n, k)`` of vectors ``(n, d)``."""
        with np.errstate(over="ignore", invalid="ignore"):
            moved = vectors - self.center
            points: F32 = moved / np.float32(self.scale) if self.turn is None else moved @ self.turn.T
        return points

    def fold(self, weights: F32) -> F32:
        """What to multiply centred vectors with to get the products of points with ``weights`` ``(rows, k)``."""
        with np.errstate(over="ignore", under="ignore"):
            folded = weights.astype(np.float64)
            folded = folded / self.scale if self.turn is None else folded @ self.turn.astype(np.float64)
            return folded.astype(np.float32)


def measure_frame(vectors: F32, center: F32, *, turned: bool) -> Frame:
    """The frame for vectors like those of ``vectors`` ``(n, d)``, in their own axes or in principal ones.

    The scale makes the usual variance along a direction 1: the mean of the variances, each weighted by itself.
    """
    moved = vectors[:: -(-len(vectors) // SAMPLE)].astype(np.float64) - center
    largest = float(np.abs(moved).max(initial=0.0))
    if largest <= 1e-6 * float(np.abs(center).max(initial=0.0)) or largest == 0:
        raise InvalidInputError("all vectors are the same, so that there is nothing to tell apart; is X constant?")
    moved /= largest
    covariance: F64 = moved.T @ moved / len(moved)
    if not turned:
        return Frame(
            center, None, _storable_scale(largest * float(np.linalg.norm(covariance) / np.sqrt(np.trace(covariance))))
        )
    variances, columns = np.linalg.eigh(covariance)
    kept = np.flatnonzero(variances > 1e-10 * variances.max())[::-1][:MAX_AXES]
    variances, axes = variances[kept], columns.T[kept]
    scale = _storable_scale(largest * float(np.linalg.norm(variances) / np.sqrt(variances.sum())))
    return Frame(center, (axes / scale).astype(np.float32), scale)


def _storable_scale(scale: float) -> float:
    if not 1e-30 < scale < 1e30:
        raise InvalidInputError(f"X spreads by {scale:g}, which float32 projections cannot undo; scale it")
    return scale

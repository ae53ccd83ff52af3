"""The correction of a code: the part of a vector's distance that does not depend on the query, as one byte.

::

    |q - x|² ≈ |q - x̂|² + w |x - x̂|² = |q - c|² - 2q·r̂ + t      x̂ = c + r̂,  t = 2c·r̂ + |r̂|² + w |x - x̂|²
    t ≈ low(c) + step(c) · byte

x and its centroid c are relative to the centre of the data, r̂ is the residual that the code describes. On average a
vector is farther from a query than its code, by the squared error of the code: w = 1. The first hundred candidates hold
most neighbours with a smaller weight (measured on GloVe and sentence embeddings: w = 0, 0.5, 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _kernels
from .._types import F32, F64, I32, U8

RANK_TOLERANCE = 1e-5
"""Directions in which a symbol's rows are shorter than this, relative to the longest direction, are left out."""

RANGE = 4.0
"""A byte covers this many standard deviations of t on both sides of its mean in a cell."""

HALF_RANGE = np.float32(127.5)
"""The middle of a byte's range."""

SMALLEST_STEP = 1e-37
"""Steps are normal float32 numbers above 0, also if all vectors of a cell are the same."""

ERROR_WEIGHT = 0.5
"""The weight w of squared errors."""

MOST_OFFSET = 16.0
"""Codes have corrections if the median of |x|² / |x - c|² is at most this; -2q·r̂ and t nearly cancel far above it."""


@dataclass(frozen=True)
class Axes:
    """The decoder of a quantiser in the directions of each symbol's rows.

    A quantiser's symbols have subspaces of their own with few dimensions, so that the products of a vector with all
    rows follow from those with few axes. Those of symbol s are ``directions[first[s]:first[s + 1]]``; ``coordinates``
    (n_axes, 16) has the coordinates of its 16 rows along each of them.
    """

    directions: F32
    first: I32
    coordinates: F32

    @classmethod
    def of(cls, decoder: F32) -> Axes:
        """The axes of the rows ``(n_symbols * 16, d)``."""
        blocks = decoder.astype(np.float64).reshape(-1, _kernels.PANEL, decoder.shape[1])
        left, strengths, right = np.linalg.svd(blocks, full_matrices=False)
        used = strengths > RANK_TOLERANCE * strengths[:, :1]
        used[:, 0] = True
        first = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int32)
        coordinates = np.swapaxes(left * strengths[:, None], 1, 2)[used]
        return cls(right[used].astype(np.float32), first, np.ascontiguousarray(coordinates, np.float32))

    def along(self, vectors: F32, n_threads: int) -> F32:
        """The coordinates ``(n, n_axes)`` of vectors."""
        return _kernels.project(vectors, self.directions, None, None, n_threads)

    def decoded(self, symbols: U8) -> F32:
        """The coordinates ``(n, n_axes)`` of what the symbols ``(n, n_symbols)`` stand for."""
        of_axis = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        chosen: F32 = self.coordinates[np.arange(len(of_axis)), symbols[:, of_axis]]
        return chosen


def corrections(squares: F64, points: F32, centroids: F32, decoded: F32) -> F64:
    """t of vectors whose residuals have these squared lengths, from coordinates ``(n, n_axes)`` of x, c and r̂.

    The axes of different symbols are orthogonal.
    """
    with_centroid, with_point, lengths = (
        np.einsum("na,na->n", rows, decoded, dtype=np.float64) for rows in (centroids, points, decoded)
    )
    errors = squares - 2 * (with_point - with_centroid) + lengths
    values: F64 = 2 * with_centroid + lengths + ERROR_WEIGHT * np.maximum(errors, 0)
    return values


def learn_corrections(values: F64, cells: I32, scales: F32) -> tuple[F32, F32]:
    """The lowest value and the step of each cell ``(n_cells,)``, from t of some vectors in the given cells.

    Steps are proportional to the cells' scales. Cells without vectors have the median of all vectors, in units of the
    squared scale.
    """
    n_cells, wide = len(scales), scales.astype(np.float64)
    counts = np.bincount(cells, minlength=n_cells)
    sums = np.bincount(cells, values, minlength=n_cells)
    common = float(np.median(values / wide[cells] ** 2))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), common * wide**2)
    away = (values - means[cells]) / wide[cells]
    deviation = np.sqrt(np.square(away).sum() / max(len(values) - int((counts > 0).sum()), 1))
    steps = np.maximum(2 * RANGE * float(deviation) / 255 * wide, SMALLEST_STEP)
    return (means - HALF_RANGE * steps).astype(np.float32), steps.astype(np.float32)


def as_bytes(values: F64, lows: F32, steps: F32) -> U8:
    """The byte of each value, given the low and the step of its cell."""
    return np.clip(np.rint((values - lows) / steps), 0, 255).astype(np.uint8)

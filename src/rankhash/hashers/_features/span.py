"""Few vectors of many dimensions, in coordinates of the subspace that they span."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import F32, F64
from ...errors import InvalidInputError
from ...vectors import VectorBatches, batches

MIN_FEATURES = 1024
"""Vectors with fewer features are learned from as they are"""
MAX_BYTES = 4 << 30
"""Largest size of the vectors as float64"""


@dataclass(frozen=True)
class Span:
    """An orthonormal basis ``(d, n)`` of the space that ``n`` vectors span, and their coordinates in it.

    Lengths, distances and inner products of the coordinates are those of the vectors. A method that depends on nothing
    else learns the same from the coordinates, in memory and time of n instead of d dimensions.
    """

    basis: F64
    coordinates: VectorBatches

    @classmethod
    def of(cls, data: VectorBatches) -> Span | None:
        """The span of vectors; None if they are no fewer than their features, or too large."""
        n, d = data.n_rows, data.n_features
        if d < MIN_FEATURES or n >= d or 8 * n * d > MAX_BYTES:
            return None
        basis, triangle = np.linalg.qr(data.whole().T.astype(np.float64))
        if np.abs(triangle).max() > np.finfo(np.float32).max:
            raise InvalidInputError("the vectors are too long for float32; scale them down")
        return cls(basis, batches(triangle.T.astype(np.float32), name=data.name))

    def expand(self, rows: F32) -> F32:
        """Rows ``(k, n)`` or a row ``(n,)`` of coordinates as vectors."""
        expanded: F32 = (rows.astype(np.float64) @ self.basis.T).astype(np.float32)
        return expanded

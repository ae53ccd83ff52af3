"""The three metrics, as the native core sees them: squared Euclidean distances or negative inner products."""

from __future__ import annotations

import numpy as np

from .. import _kernels
from .._types import F32
from ..errors import InvalidInputError

METRICS = ("cosine", "euclidean", "dot")

MAX_LENGTH = 1e18
"""Largest length of a stored vector: squared distances of two such vectors fit into float32."""


def prepare(vectors: F32, metric: str, name: str) -> F32:
    """Vectors as they are stored and compared: of unit length for the cosine, else as they are."""
    if metric != "cosine":
        return vectors
    unit, row = _kernels.unit_rows(vectors)
    if row >= 0:
        raise InvalidInputError(
            f"row {row} of {name} is zero, which has no direction; leave it out, or use metric='euclidean'"
        )
    return unit


def storable(vectors: F32, dtype: str | None = None) -> F32:
    """Prepared vectors, if they can be stored as ``dtype`` (default None: float32) and their distances be computed."""
    largest = max(float(vectors.max(initial=0)), -float(vectors.min(initial=0)))
    if dtype == "float16" and largest > float(np.finfo(np.float16).max):
        raise InvalidInputError("vectors='float16' holds numbers up to 65504, and X has larger ones; use 'float32'")
    if largest * np.sqrt(vectors.shape[1]) > MAX_LENGTH:
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
        row = int(lengths.argmax())
        if lengths[row] > MAX_LENGTH:
            raise InvalidInputError(
                f"row {row} of X has the length {lengths[row]:.2g}, and distances are computed for lengths up to "
                f"{MAX_LENGTH:g}; scale the vectors down, or use metric='cosine'"
            )
    return vectors


def true_distances(found: F32, metric: str) -> F32:
    """What users see: 1 - cosine, the Euclidean distance, or the negative inner product."""
    if metric == "dot":
        return found
    return found / np.float32(2) if metric == "cosine" else np.sqrt(found)

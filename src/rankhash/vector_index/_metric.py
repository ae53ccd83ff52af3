"""The three metrics, as the native core sees them: squared Euclidean distances or negative inner products."""

from __future__ import annotations

import numpy as np

from .. import _kernels
from .._types import F32
from ..errors import InvalidInputError

METRICS = ("cosine", "euclidean", "dot")


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


def true_distances(found: F32, metric: str) -> F32:
    """What users see: 1 - cosine, the Euclidean distance, or the negative inner product."""
    if metric == "dot":
        return found
    return found / np.float32(2) if metric == "cosine" else np.sqrt(found)

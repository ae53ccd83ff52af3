"""The three metrics, as the native core sees them: squared Euclidean distances or negative inner products."""

from __future__ import annotations

import numpy as np

from .._types import F32
from ..errors import InvalidInputError

METRICS = ("cosine", "euclidean", "dot")


def prepare(vectors: F32, metric: str, name: str) -> F32:
    """Vectors as they are stored and compared: of unit length for the cosine, else as they are."""
    if metric != "cosine":
        return vectors
    wide = vectors.astype(np.float64)
    lengths = np.sqrt(np.add.reduce(wide * wide, axis=1))
    if not lengths.all():
        row = int(np.argmin(lengths))
        raise InvalidInputError(
            f"row {row} of {name} is zero, which has no direction; leave it out, or use metric='euclidean'"
        )
    unit: F32 = (wide / lengths[:, None]).astype(np.float32)
    return unit


def true_distances(found: F32, metric: str) -> F32:
    """What users see: 1 - cosine, the Euclidean distance, or the negative inner product."""
    if metric == "dot":
        return found
    return found / np.float32(2) if metric == "cosine" else np.sqrt(found)

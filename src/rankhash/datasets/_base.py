"""The contents of a data set: [`Dataset`][rankhash.datasets.Dataset]."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

import numpy as np

from .._types import F64, Array

MEAN_ROWS = 4096
ENDS = 1000
"""Rows at both ends that the fingerprint is computed from."""


def fingerprint_of(vectors: Array) -> str:
    """A fingerprint of vectors, twelve hexadecimal digits, from their shape and the rows at both ends.

    >>> fingerprint_of(np.eye(2)) == fingerprint_of(np.eye(3))
    False
    """
    digest = hashlib.sha256(repr((vectors.shape, vectors.dtype.str)).encode())
    for part in (vectors[:ENDS], vectors[-ENDS:]):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Vectors, one per row, with labels and ground truth where the source has them.

    >>> Dataset("two", np.array([[0, 2], [2, 4]])).mean()
    array([1., 3.])
    """

    name: str
    vectors: Array
    """(n, d), with the numbers of the file"""

    labels: Array | None = None
    """(n,) classes; None (default) if there are none"""

    image_shape: tuple[int, int] | None = None
    """Height and width of grey images; None (default) if the vectors are no images"""

    queries: Array | None = None
    """(n_queries, d) separate queries; None (default) if the file has none"""

    neighbors: Array | None = None
    """(n_queries, k) row numbers of the queries' true neighbours; None (default) if the file has none"""

    fingerprint: str = ""
    """Identifies the contents of a user's file; empty (default) for a data set with a name"""

    @cache  # noqa: B019 - a data set lives as long as the run that it is for
    def mean(self) -> F64:
        """The mean vector, summed in float64, block by block."""
        total = np.zeros(self.vectors.shape[1])
        for start in range(0, len(self.vectors), MEAN_ROWS):
            total += self.vectors[start : start + MEAN_ROWS].sum(axis=0, dtype=np.float64)
        return total / len(self.vectors)

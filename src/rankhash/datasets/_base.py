"""What a data set is: :class:`Dataset`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

MEAN_ROWS = 4096
ENDS = 1000
"""Rows from both ends that tell one file from another."""


def fingerprint_of(vectors: NDArray[Any]) -> str:
    """Twelve hexadecimal digits that differ for other vectors, made of their shape and of both ends.

    >>> fingerprint_of(np.eye(2)) == fingerprint_of(np.eye(3))
    False
    """
    digest = hashlib.sha256(repr((vectors.shape, vectors.dtype.str)).encode())
    for part in (vectors[:ENDS], vectors[-ENDS:]):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Vectors, one a row, and what is known of them.

    >>> Dataset("two", np.array([[0, 2], [2, 4]])).mean()
    array([1., 3.])
    """

    name: str
    vectors: NDArray[Any]
    """(n, d), as the file has them"""

    labels: NDArray[Any] | None = None
    """(n,) classes"""

    image_shape: tuple[int, int] | None = None
    """Height and width, if the vectors are pictures in grey"""

    queries: NDArray[Any] | None = None
    """(n_queries, d), if the file sets queries apart"""

    neighbors: NDArray[Any] | None = None
    """(n_queries, k) rows of the vectors: the queries' true neighbours, if the file names them"""

    fingerprint: str = ""
    """Names the contents of a user's file; empty for a set that has a name"""

    @cache  # noqa: B019 - a data set lives as long as the run that it is for
    def mean(self) -> NDArray[np.float64]:
        """The mean vector, summed in float64 a few rows at a time."""
        total = np.zeros(self.vectors.shape[1])
        for start in range(0, len(self.vectors), MEAN_ROWS):
            total += self.vectors[start : start + MEAN_ROWS].sum(axis=0, dtype=np.float64)
        return total / len(self.vectors)

"""Similarity as a symmetric matrix, for methods that use all pairs of a few thousand points."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from .._types import F32, F64, I64
from ._base import SIMILAR, UNKNOWN, PairSource
from .classes import ClassLabels

BLOCK_PAIRS = 1 << 20
"""Pairs whose labels are looked up at once."""


class SimilarityMatrix(Protocol):
    """A symmetric matrix: 1 for similar, -1 for dissimilar and 0 for unknown pairs; 1 on the diagonal."""

    n_known: int
    """Number of entries that are not 0."""

    def times(self, columns: F64) -> F64:
        """The product ``(n, k)`` of the matrix with columns ``(n, k)``."""

    def matrix(self) -> F32:
        """The matrix as an array ``(n, n)``."""


def similarity_matrix(source: PairSource) -> SimilarityMatrix:
    """The matrix of a source. For classes, products need memory for n points, not for n × n.

    >>> similar = similarity_matrix(ClassLabels(np.array([0, 1, 0])))
    >>> similar.matrix().tolist()
    [[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0], [1.0, -1.0, 1.0]]
    >>> similar.times(np.eye(3)[:, :1]).ravel().tolist()
    [1.0, -1.0, 1.0]
    """
    return _ClassMatrix(source.classes) if isinstance(source, ClassLabels) else _DenseMatrix(source)


class _ClassMatrix:
    """2 M M' - 1 with the indicator matrix M ``(n, n_classes)`` of the classes."""

    def __init__(self, classes: I64) -> None:
        self._classes = classes
        places = (np.arange(len(classes)), classes)
        self._members = csr_array((np.ones(len(classes)), places))
        self.n_known = len(classes) ** 2

    def times(self, columns: F64) -> F64:
        sums = self._members.T @ columns
        product: F64 = 2 * (self._members @ sums) - sums.sum(axis=0)
        return product

    def matrix(self) -> F32:
        signs: F32 = np.where(self._classes[:, None] == self._classes, np.float32(1), np.float32(-1))
        return signs


class _DenseMatrix:
    def __init__(self, source: PairSource) -> None:
        n = source.n_points
        self._matrix = np.empty((n, n), np.float32)
        step = max(1, BLOCK_PAIRS // n)
        for start in range(0, n, step):
            first, second = np.divmod(np.arange(start * n, min(start + step, n) * n), n)
            labels = source.labels_of(np.stack([first, second], axis=1).astype(np.int32))
            signs = np.where(labels == SIMILAR, 1, np.where(labels == UNKNOWN, 0, -1))
            self._matrix[start : start + step] = signs.reshape(-1, n)
        np.fill_diagonal(self._matrix, 1)
        self.n_known = int(np.count_nonzero(self._matrix))

    def times(self, columns: F64) -> F64:
        product: F64 = (self._matrix @ columns.astype(np.float32)).astype(np.float64)
        return product

    def matrix(self) -> F32:
        copied: F32 = self._matrix.copy()
        return copied

"""Some of the vectors and who is similar to whom among them: what methods that look at all pairs learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..errors import InvalidInputError
from ..similarity import SIMILAR, UNKNOWN, ClassLabels, GivenPairs, PairSource, label_source
from ._base import F32, F64, Training
from ._pairs import _scaled
from ._reduced import neighbors_among

I64 = NDArray[np.int64]

BLOCK_PAIRS = 1 << 20


@dataclass(frozen=True)
class Labelled:
    """Rows of the vectors, themselves around the mean of all with unit mean square length, and their similarity."""

    rows: I64
    x: F32
    center: F32
    scale: float
    source: PairSource


class Similarity(Protocol):
    """A symmetric matrix of 1 for similar, -1 for dissimilar and 0 for unknown pairs; 1 on the diagonal."""

    n_known: int
    """Entries that are not 0."""

    def times(self, columns: F64) -> F64:
        """The matrix times some columns ``(n, k)``."""

    def matrix(self) -> F32:
        """The matrix itself, ``(n, n)``."""


def labelled_points(
    owner: str, training: Training, most: int, n_neighbors: int, rng: np.random.RandomState
) -> Labelled:
    """At most ``most`` vectors whose similarity is known from labels, given pairs or else from their distances."""
    data = training.vectors
    if data.n_rows < 2:
        raise InvalidInputError(f"{owner} learns from pairs, but there is 1 sample: n_samples=1")
    known = label_source(training.y, training.similarity, data.n_rows)
    draws = np.random.default_rng(rng.randint(0, 2**31 - 1, size=4))
    rows = np.unique(known.pairs).astype(np.int64) if isinstance(known, GivenPairs) else np.arange(data.n_rows)
    if len(rows) > most:
        rows = np.sort(draws.choice(rows, most, replace=False))
    center = data.mean()
    x, scale = _scaled(data, rows, center, None)
    if known is None:
        return Labelled(rows, x, center, scale, neighbors_among(x, n_neighbors, draws, scale))
    source = known.subset(rows)
    source.require_both_kinds("the sample of max_points vectors is too small for so rare classes or pairs")
    return Labelled(rows, x, center, scale, source)


def similarity_of(source: PairSource) -> Similarity:
    """The matrix of a source; for classes it is never written out to be multiplied.

    >>> similar = similarity_of(ClassLabels(np.array([0, 1, 0])))
    >>> similar.matrix().tolist()
    [[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0], [1.0, -1.0, 1.0]]
    >>> similar.times(np.eye(3)[:, :1]).ravel().tolist()
    [1.0, -1.0, 1.0]
    """
    return _ByClass(source.classes) if isinstance(source, ClassLabels) else _ByPair(source)


class _ByClass:
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


class _ByPair:
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

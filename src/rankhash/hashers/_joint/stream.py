"""The vectors of a stream that are remembered, so that pairs of vectors of different batches are learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..._types import F32, I64, Array
from ...errors import InvalidInputError
from ...similarity import GivenPairs
from ...vectors import batches
from ..training import Training

MAX_VECTORS, MAX_FLOATS = 20_000, 1 << 24
"""Largest number of remembered vectors, and of their entries."""


class StreamWindow:
    """The latest vectors of a stream, with their classes or given pairs.

    A vector that comes again replaces the earlier one, so that the same batch may come many times. Batches that hold
    more vectors than are remembered, or labels of another kind than the batch before, are learned from alone.

    >>> window = StreamWindow()
    >>> for start in (0, 3):
    ...     X = np.arange(start, start + 5, dtype=np.float32)[:, None]
    ...     known = window.add(Training(batches(X), X[:, 0] % 2, None))
    >>> known.vectors.whole().ravel().tolist(), float(known.y.sum()), window.is_complete
    ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 4.0, True)
    """

    def __init__(self, *, is_complete: bool = True) -> None:
        self._vectors: F32 | None = None
        self._labels: Array | GivenPairs | None = None
        self.is_complete = is_complete
        """Whether no vector of the stream is forgotten."""

    def add(self, batch: Training) -> Training:
        """The remembered vectors and those of one more batch, as one training set."""
        data, source = batch.vectors, batch.known_pairs("JRSH")
        most = min(MAX_VECTORS, MAX_FLOATS // data.n_features)
        pairs = source if isinstance(source, GivenPairs) else None
        if data.n_rows > most or (batch.similarity is not None and pairs is None):
            self._vectors, self.is_complete = None, False
            return batch
        new, labels = np.array(data.whole()), _classes(batch.y) if pairs is None else pairs
        if self._vectors is not None and _kind(labels) == _kind(self._labels):
            others = _rows_that_differ(self._vectors, new)
            kept = others[max(0, len(others) + len(new) - most) :]
            self.is_complete &= len(kept) == len(others)
            labels = _joined(self._labels, kept, labels, len(new))
            new = np.concatenate([self._vectors[kept], new])
        elif self._vectors is not None:
            self.is_complete = False
        self._vectors, self._labels = new, labels
        known = (None, labels) if isinstance(labels, GivenPairs) else (labels, None)
        return Training(batches(new, owner="JRSH"), *known)


def _classes(y: Any) -> Array | None:
    return None if y is None else np.array(y.toarray() if issparse(y) else y)


def _kind(labels: Array | GivenPairs | None) -> tuple[type, int]:
    return type(labels), labels.ndim if isinstance(labels, np.ndarray) else 0


def _rows_that_differ(vectors: F32, others: F32) -> I64:
    """The rows of ``vectors`` that no row of ``others`` equals."""
    known = {row.tobytes() for row in others}
    return np.array([row for row, vector in enumerate(vectors) if vector.tobytes() not in known], np.int64)


def _joined(
    old: Array | GivenPairs | None, kept: I64, new: Array | GivenPairs | None, n_new: int
) -> Array | GivenPairs | None:
    """The labels of the ``kept`` old vectors, followed by those of the new ones."""
    if isinstance(old, GivenPairs) and isinstance(new, GivenPairs):
        first, n = old.subset(kept), len(kept) + n_new
        pairs = np.concatenate([first.pairs, new.pairs + len(kept)]).astype(np.int64)
        return GivenPairs(pairs[:, 0] * n + pairs[:, 1], np.concatenate([first.labels, new.labels]), n)
    if not isinstance(old, np.ndarray) or not isinstance(new, np.ndarray):
        return None
    if old.shape[1:] != new.shape[1:] or (old.dtype.kind in "biuf") != (new.dtype.kind in "biuf"):
        raise InvalidInputError("y must hold labels of the same kind in all batches; call fit to start anew")
    return np.concatenate([old[kept], new])

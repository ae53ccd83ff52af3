"""Given pairs, as a matrix or as rows (i, j, s); all other pairs are unknown."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from .._types import I8, I32, I64, U8
from ..errors import InvalidInputError
from ._base import UNKNOWN, PairSource, pair_keys, without_selves

FORMS = (
    "similarity must be a sparse or dense matrix (n, n) or rows (i, j, s), with s = 1 for similar and 0 or -1 for "
    "dissimilar pairs"
)


def given_source(similarity: Any, n_points: int) -> GivenPairs:
    """The source for pairs in any of their forms.

    ==================  ==========  ==========  ===================
    form                similar     dissimilar  unknown
    ==================  ==========  ==========  ===================
    sparse (n, n)       stored 1    stored 0 or -1  not stored
    dense (n, n)        1, True     0, -1, False    NaN or masked
    rows (i, j, s)      s = 1       s = 0 or -1     no row
    ==================  ==========  ==========  ===================

    An array of shape (3, 3) for three points is read as a matrix. Some operations of SciPy drop stored zeros, so
    that -1 is the safer mark for dissimilar pairs.

    >>> source = given_source([(0, 1, 1), (1, 2, -1)], n_points=3)
    >>> source.labels_of(np.int32([[1, 0], [2, 1], [0, 2]])).tolist()
    [1, 0, -1]
    """
    first, second, values = _triplets(similarity, n_points)
    if not np.isin(values, (1, 0, -1)).all():
        wrong = values[~np.isin(values, (1, 0, -1))][0]
        raise InvalidInputError(f"{FORMS}; got s = {wrong}")
    ends = np.concatenate([first, second, [0]])
    if ends.min() < 0 or ends.max() >= n_points:
        raise InvalidInputError(f"similarity names points outside of 0 to {n_points - 1}: there are {n_points} vectors")
    pairs = np.stack([first, second], axis=1).astype(np.int32)
    apart = first != second
    source = GivenPairs(*_settle(pairs[apart], (values[apart] == 1).astype(np.uint8), n_points), n_points)
    missing = "similar" if not source.n_similar else "dissimilar"
    source.require_both_kinds(f"mark some pairs as {missing}; those that are not given are unknown")
    return source


def _triplets(similarity: Any, n_points: int) -> tuple[I64, I64, NDArray[Any]]:
    if issparse(similarity):
        _check_square(similarity.shape, n_points)
        stored = similarity.tocoo()
        return stored.row.astype(np.int64), stored.col.astype(np.int64), _numbers(stored.data)
    masked = np.ma.getmaskarray(similarity) if np.ma.isMaskedArray(similarity) else None
    array = _numbers(np.asarray(similarity))
    if array.ndim == 2 and array.shape == (n_points, n_points):
        known = ~np.isnan(array) if masked is None else ~(np.isnan(array) | masked)
        first, second = np.nonzero(known)
        return first, second, array[first, second]
    if array.ndim != 2 or array.shape[1] != 3:
        raise InvalidInputError(f"{FORMS}; got the shape {array.shape} for {n_points} vectors")
    if np.isnan(array).any() or (array[:, :2] != np.floor(array[:, :2])).any():
        raise InvalidInputError(f"{FORMS}; i and j must be row numbers")
    return array[:, 0].astype(np.int64), array[:, 1].astype(np.int64), array[:, 2]


def _numbers(array: NDArray[Any]) -> NDArray[np.float64]:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{FORMS}; {error}") from error


def _check_square(shape: tuple[int, ...], n_points: int) -> None:
    if shape != (n_points, n_points):
        raise InvalidInputError(f"{FORMS}; got the shape {shape} for {n_points} vectors")


def _settle(pairs: I32, labels: U8, n_points: int) -> tuple[I64, U8]:
    """Sorted keys of distinct pairs, and their labels; contradictory pairs are left out with a warning."""
    keys, place = np.unique(pair_keys(pairs, n_points), return_inverse=True)
    given = np.bincount(place, minlength=len(keys))
    similar = np.bincount(place, weights=labels, minlength=len(keys))
    clear = (similar == 0) | (similar == given)
    if not clear.all():
        example = tuple(int(point) for point in divmod(keys[~clear][0], n_points))
        warnings.warn(
            f"{np.count_nonzero(~clear)} pairs are given as similar and as dissimilar, such as {example}; "
            "they are left out",
            UserWarning,
            stacklevel=3,
        )
    return keys[clear], (similar[clear] > 0).astype(np.uint8)


class GivenPairs(PairSource):
    """Pairs by their sorted keys ``i * n_points + j``, i < j, and their labels."""

    is_partial = True

    def __init__(self, keys: I64, labels: U8, n_points: int) -> None:
        self.keys, self.labels, self.n_points = keys, labels, n_points
        self._by_kind = keys[labels == 0], keys[labels == 1]
        self._matrix: csr_array | None = None
        self.n_dissimilar, self.n_similar = (float(len(kind)) for kind in self._by_kind)

    @property
    def pairs(self) -> I32:
        """All pairs ``(t, 2)``."""
        return np.stack(np.divmod(self.keys, self.n_points), axis=1).astype(np.int32)

    def labelled_rows(self) -> I64:
        """The points of the given pairs, ascending."""
        return np.unique(self.pairs).astype(np.int64)

    def labels_of(self, pairs: I32) -> I8:
        """The given label, or -1."""
        keys = pair_keys(pairs, self.n_points)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.labels[place], UNKNOWN).astype(np.int8)

    def labels_among(self, rows: I64) -> I8:
        """The given labels of the pairs of some points, or -1."""
        if self._matrix is None:
            first, second = np.divmod(self.keys, self.n_points)
            ends = np.concatenate([first, second]), np.concatenate([second, first])
            values = np.tile(self.labels.astype(np.int8) - np.int8(UNKNOWN), 2)
            self._matrix = csr_array((values, ends), shape=(self.n_points, self.n_points))
        among = self._matrix[rows][:, rows].toarray()
        return without_selves(among + np.int8(UNKNOWN), rows)

    def subset(self, rows: I64) -> GivenPairs:
        """The pairs whose points are both among ``rows``."""
        number = np.full(self.n_points, -1)
        number[rows] = np.arange(len(rows))
        pairs = number[self.pairs]
        inside = (pairs >= 0).all(axis=1)
        keys = pair_keys(pairs[inside], len(rows))
        order = np.argsort(keys)
        return GivenPairs(keys[order], self.labels[inside][order], len(rows))

    def _draw(self, rng: np.random.Generator, size: int, kind: int) -> I32:
        keys = self._by_kind[kind]
        drawn = keys[rng.integers(0, len(keys), size)]
        return np.stack(np.divmod(drawn, self.n_points), axis=1).astype(np.int32)

    def _draw_similar(self, rng: np.random.Generator, size: int) -> I32:
        return self._draw(rng, size, 1)

    def _draw_dissimilar(self, rng: np.random.Generator, size: int) -> I32:
        return self._draw(rng, size, 0)

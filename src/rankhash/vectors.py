"""Validation of vectors: any array-like becomes finite float32 ``(n, d)`` in C order, or an error.

::

    as_vectors(X)            the whole input as one array
    batches(X)               batches of a few megabytes, so that a huge X is never copied as a whole
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from . import _kernels
from ._types import F32, F64, I64, Array
from .errors import InvalidInputError, InvalidTypeError

BATCH_BYTES = 4 << 20
"""Size of one batch: large enough to keep the kernels busy, small enough to stay in the cache."""

MAX_PLAIN = 4096
"""Arrays of at most this many float32 numbers that need no conversion take a shorter way."""

_FLOAT32 = np.dtype(np.float32)

MAX_DENSE_BYTES = 2 << 30
"""Largest array that sparse rows are converted to at once."""


def as_vectors(X: Any, *, n_features: int | None = None, name: str = "X", owner: str = "rankhash") -> F32:
    """``X`` as float32 ``(n, d)``, C-contiguous and finite; ``X`` itself if it already is.

    Parameters
    ----------
    X
        A two-dimensional array, list, data frame or memory map of floats, integers or booleans.
    n_features
        The number of columns that ``X`` must have; None (default) accepts any number.
    name
        The name of ``X`` in error messages; default ``"X"``.
    owner
        The object that expects ``n_features`` columns, in error messages; default ``"rankhash"``.

    Raises
    ------
    InvalidInputError
        If ``X`` is empty, not two-dimensional, of another width, or holds NaN, infinity or numbers beyond
        float32.
    InvalidTypeError
        If ``X`` is sparse or does not hold real numbers.

    Examples
    --------
    >>> as_vectors([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return X if _is_plain(X, n_features) else batches(X, n_features=n_features, name=name, owner=owner).whole()


def _is_plain(X: Any, n_features: int | None) -> bool:
    """Whether ``X`` is a small array that needs no conversion: one query is checked in less time than it is searched.

    False only says that it has to be looked at more closely.
    """
    return (
        type(X) is np.ndarray
        and X.dtype is _FLOAT32
        and X.ndim == 2
        and X.shape[1] == n_features
        and 0 < X.size <= MAX_PLAIN
        and bool(X.flags.c_contiguous and X.flags.aligned)
        and bool(np.isfinite(X).all())
    )


def batches(
    X: Any, *, n_features: int | None = None, name: str = "X", owner: str = "rankhash", sparse: bool = False
) -> VectorBatches:
    """``X`` as an iterable of batches; type and shape are checked now, the numbers batch by batch.

    Every iteration converts and checks the numbers again. The parameters are those of
    [`as_vectors`][rankhash.as_vectors]. With ``sparse`` (default False), sparse rows of SciPy are taken as well; each
    batch is dense.

    >>> [batch.shape for batch in batches([[1, 2], [3, 4]])]
    [(2, 2)]
    """
    array = X.tocsr() if sparse and _is_sparse(X) and X.ndim == 2 and X.dtype.kind in "fiub" else _as_numbers(X, name)
    _check_shape(array, n_features, name, owner)
    return VectorBatches(array, name)


@dataclass(frozen=True)
class VectorBatches:
    """Vectors that are converted and checked one batch of rows at a time; made by `batches`.

    >>> data = batches([[1, 2], [3, 4]])
    >>> data.n_rows, data.n_features, data.mean().tolist()
    (2, 2, [2.0, 3.0])
    """

    array: Array
    name: str

    @property
    def n_rows(self) -> int:
        """Number of rows of all batches together."""
        return int(self.array.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of every batch."""
        return int(self.array.shape[1])

    def __iter__(self) -> Iterator[F32]:
        for start, rows in self.unchecked():
            yield self._checked(start, rows)

    def unchecked(self) -> Iterator[tuple[int, F32]]:
        """Each batch with the number of its first row, for callers that check for NaN and infinity themselves."""
        step = max(1, BATCH_BYTES // (4 * self.n_features))
        for start in range(0, self.n_rows, step):
            yield start, self._rows(start, min(start + step, self.n_rows))

    def whole(self) -> F32:
        """All rows in one array."""
        self._check_dense_size(self.n_rows)
        return self._checked(0, self._rows(0, self.n_rows))

    def take(self, rows: I64) -> F32:
        """Some rows in one array; errors name the numbers of rows within the array."""
        self._check_dense_size(len(rows))
        return VectorBatches(self.array[rows], self.name).whole()

    def check(self) -> None:
        """Raise an error if any row holds NaN, infinity or a number beyond float32."""
        for _ in self:
            pass

    def mean(self) -> F32:
        """The mean row, ``(n_features,)``, summed in float64."""
        total = np.zeros(self.n_features)
        for batch in self:
            total += batch.sum(axis=0, dtype=np.float64)
        return (total / self.n_rows).astype(np.float32)

    def refuse(self, row: int) -> NoReturn:
        """Raise the error for a row that holds NaN, infinity or a number beyond float32."""
        raise InvalidInputError(self._complaint(row))

    def _rows(self, start: int, stop: int) -> F32:
        rows = _dense(self.array[start:stop])
        if rows.dtype == np.float32 and rows.flags.c_contiguous and rows.flags.aligned:
            return rows
        with np.errstate(over="ignore"):
            return np.require(rows, np.float32, ["C", "A"])

    def _check_dense_size(self, n_rows: int) -> None:
        size = 4 * n_rows * self.n_features
        if size > MAX_DENSE_BYTES and _is_sparse(self.array):
            raise InvalidInputError(
                f"{self.name} is sparse, and {n_rows} dense rows of it would take {size / 1e9:.1f} GB; use fewer rows, "
                "or reduce its dimension with sklearn.decomposition.TruncatedSVD"
            )

    def _checked(self, start: int, rows: F32) -> F32:
        bad = _kernels.first_nonfinite_row(rows)
        if bad >= 0:
            self.refuse(start + bad)
        return rows

    def _complaint(self, row: int) -> str:
        values = _dense(self.array[row : row + 1])[0]
        if np.isfinite(values).all():
            value = values[np.abs(values).argmax()]
            return f"{self.name} must fit into float32, but row {row} holds {value:g}; scale it down"
        what = "NaN" if np.isnan(values).any() else "infinity"
        return f"{self.name} must hold finite numbers, but row {row} holds {what}; drop or fill such rows first"


def _as_numbers(X: Any, name: str) -> Array:
    """``X`` as an array of floats, integers or booleans of any shape, without a copy where possible."""
    if _is_sparse(X):
        raise InvalidTypeError(
            f"{name} is sparse, but vectors must be dense here; convert it with {name}.toarray(), or reduce its "
            "dimension with sklearn.decomposition.TruncatedSVD"
        )
    if np.ma.is_masked(X):
        raise InvalidInputError(f"{name} has masked values; fill them with {name}.filled(...) first")
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise InvalidInputError(f"{name} must have rows of one length and hold numbers: {error}") from error
    if array.dtype.kind == "O":
        array = _objects_as_numbers(array, name)
    if array.dtype.kind == "c":
        raise InvalidTypeError(f"Complex data not supported; pass {name}.real and {name}.imag as columns")
    if array.dtype.kind not in "fiub":
        raise InvalidTypeError(f"{name} must hold numbers, got {array.dtype}")
    return array


def _objects_as_numbers(array: Array, name: str) -> F64:
    if any(isinstance(value, (str, bytes)) for value in array.flat):
        raise InvalidTypeError(f"{name} must hold numbers, but there is text among them; convert it first")
    try:
        return array.astype(np.float64)
    except OverflowError as error:
        raise InvalidInputError(f"{name} must fit into float32, but holds a number that is far too large") from error
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{name} must hold numbers: {error}") from error


def _check_shape(array: Array, n_features: int | None, name: str, owner: str) -> None:
    if array.ndim < 2:
        raise InvalidInputError(
            f"{name} must be a 2D array of vectors, one per row, got {array.ndim}D. Reshape your data: "
            f"{name}.reshape(1, -1) if it is one vector, {name}.reshape(-1, 1) if it is one feature"
        )
    if array.ndim > 2:
        raise InvalidInputError(
            f"{name} must be a 2D array of vectors, one per row, got {array.ndim}D of shape {array.shape}; "
            f"flatten each item with {name}.reshape(len({name}), -1)"
        )
    if 0 in array.shape:
        what = "sample(s)" if array.shape[0] == 0 else "feature(s)"
        raise InvalidInputError(f"{name} has 0 {what} (shape={array.shape}) while a minimum of 1 is required.")
    if n_features is not None and array.shape[1] != n_features:
        raise InvalidInputError(
            f"{name} has {array.shape[1]} features, but {owner} is expecting {n_features} features as input"
        )


def _dense(rows: Any) -> Array:
    """Rows of a dense or sparse array as a dense one."""
    dense: Array = rows.toarray() if _is_sparse(rows) else rows
    return dense


def _is_sparse(X: Any) -> bool:
    """Whether ``X`` is a sparse array of SciPy; False without an import if SciPy is not loaded."""
    issparse = getattr(sys.modules.get("scipy.sparse"), "issparse", None)  # none while another thread imports it
    return issparse is not None and bool(issparse(X))

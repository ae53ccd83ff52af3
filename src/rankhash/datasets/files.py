"""Data sets in files: arrays come from `rankhash.readers`, MATLAB files and tables of text are read here; no pickle."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np
from scipy.io import loadmat, whosmat

from .._types import Array
from ..errors import FileFormatError, InvalidInputError, RankhashError
from ..readers import open_vectors, read_arrays
from ..readers.limits import check_expansion
from ..readers.named import read_hdf5
from ._base import Dataset, fingerprint_of
from ._matrix_market import read_matrix_market

Arrays = dict[str, Array]

VECTORS = ("X", "vectors", "train", "gist", "data", "features")
LABELS = ("y", "labels", "label", "target", "category")


def read_dataset(path: Path) -> Dataset:
    """The vectors of a file, and labels, queries and neighbours where it has them.

    Of several arrays the vectors are the one called X, vectors, train, gist, data or features, or x_train and x_test
    together, or else the largest table; labels are called y, labels, label, target or category, or y_train and y_test.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InvalidInputError(f"{path} must end in one of {' '.join(READERS)}")
    return _dataset(path, read_file(path))


def read_file(path: Path) -> Arrays:
    """The arrays of a file by name; its suffix is one of ``READERS``."""
    return _read(path, READERS[path.suffix.lower()])


def read_table(path: Path) -> Array:
    """The table of numbers in a text file, one row per line, whatever its suffix."""
    return _read(path, lambda file: {"X": _table(file)})["X"]


def _read(path: Path, reader: Callable[[Path], Arrays]) -> Arrays:
    if not path.is_file():
        raise InvalidInputError(f"there is no file {path}")
    try:
        return reader(path)
    except FileFormatError as error:
        raise FileFormatError(f"{path} {error}") from None
    except RankhashError:
        raise
    except Exception as error:  # readers of other libraries raise many kinds of errors for damaged files
        raise FileFormatError(f"{path} cannot be read as {path.suffix}: {error}") from error


def _dataset(path: Path, arrays: Arrays) -> Dataset:
    vectors = _joined(arrays, "x") if "x_train" in arrays else _first(arrays, VECTORS)
    if vectors is None:
        tables = [array for array in arrays.values() if array.ndim == 2 and array.dtype.kind in "fiub"]
        if not tables:
            raise FileFormatError(f"{path} holds no table of numbers with one vector a row")
        vectors = max(tables, key=lambda table: table.size)
    if vectors.dtype.kind not in "fiub" or vectors.ndim < 2 or not vectors.size:
        raise FileFormatError(
            f"{path} must hold numbers, one vector a row, got {vectors.dtype} of shape {vectors.shape}"
        )
    image_shape = vectors.shape[1:] if vectors.ndim == 3 else None
    labels = _joined(arrays, "y") if "y_train" in arrays else _first(arrays, LABELS)
    if labels is not None and labels.ndim == 2 and 1 in labels.shape:
        labels = labels.ravel()
    if labels is not None and len(labels) != len(vectors):
        raise FileFormatError(f"{path} holds {len(vectors)} vectors but {len(labels)} labels")
    queries = arrays.get("test") if "train" in arrays else None
    vectors = vectors.reshape(len(vectors), -1)
    known = queries, arrays.get("neighbors")
    return Dataset(path.stem, vectors, labels, image_shape, *known, fingerprint_of(vectors))


def _joined(arrays: Arrays, letter: str) -> Array:
    parts = [arrays[name] for name in (f"{letter}_train", f"{letter}_test") if name in arrays]
    return np.concatenate(parts)


def _first(arrays: Arrays, names: tuple[str, ...]) -> Array | None:
    return next((arrays[name] for name in names if name in arrays), None)


def _by_blocks(path: Path) -> Arrays:
    """The vectors of a format that holds only vectors."""
    return {"X": open_vectors(path).read()}


def _mat(path: Path) -> Arrays:
    """The arrays of a MATLAB file; since version 7.3 that is HDF5, with transposed arrays."""
    with path.open("rb") as file:
        modern = b"MATLAB 7.3" in file.read(128)
    if modern:
        return {name: array.T for name, array in read_hdf5(path).items()}
    check_expansion(path, sum(8 * prod(shape) for _, shape, _ in whosmat(path)), None)
    loaded = loadmat(path)
    return {name: value for name, value in loaded.items() if isinstance(value, np.ndarray)}


def _mtx(path: Path) -> Arrays:
    """The matrix in a Matrix Market file, or in a table of numbers in plain text.

    A first line of two whole numbers announces the numbers of rows and columns, if as many numbers follow. Otherwise
    the table has no header: every line is a vector, as MATLAB's ``load`` reads it.
    """
    with path.open("rb") as file:
        head = file.readline(200)
    if head.startswith(b"%%MatrixMarket"):
        return {"X": read_matrix_market(path)}
    sizes = head.split()
    if len(sizes) == 2 and all(size.isdigit() for size in sizes):
        return {"X": _announced(path, int(sizes[0]), int(sizes[1]))}
    return {"X": _table(path)}


def _announced(path: Path, n_rows: int, n_columns: int) -> Array:
    """The table after a line with its size; the whole file if that line turns out to be a vector of two numbers."""
    with path.open(encoding="ascii") as text:
        text.readline()
        rest = text.read()
    values = np.fromstring(rest, sep=" ")
    if n_rows * n_columns == len(values):
        return values.reshape(n_rows, n_columns)
    if len(rest.split("\n", 1)[0].split()) == 2:
        return _table(path)
    raise FileFormatError(f"announces {n_rows} rows of {n_columns} columns but holds {len(values)} numbers")


def _table(path: Path) -> Array:
    """The numbers of a text file, one row per line, as many in every line."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # of an empty file
        return np.loadtxt(path, ndmin=2, comments="%", encoding="ascii")


READERS: dict[str, Callable[[Path], Arrays]] = {
    ".npy": read_arrays,
    ".npz": read_arrays,
    ".fvecs": _by_blocks,
    ".bvecs": _by_blocks,
    ".csv": _by_blocks,
    ".jsonl": _by_blocks,
    ".parquet": _by_blocks,
    ".mat": _mat,
    ".mtx": _mtx,
    ".hdf5": read_arrays,
    ".h5": read_arrays,
}

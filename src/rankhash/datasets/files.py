"""Readers of files with vectors, by suffix: no pickle, sizes checked before memory is taken where the format tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, mmread

from ..errors import FileFormatError, InvalidInputError, RankhashError
from ..readers import open_vectors
from ._base import Dataset, fingerprint_of

Array = NDArray[Any]
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
    if not path.is_file():
        raise InvalidInputError(f"there is no file {path}")
    try:
        arrays = reader(path)
    except FileFormatError as error:
        raise FileFormatError(f"{path} {error}") from None
    except RankhashError:
        raise
    except Exception as error:  # the libraries' readers raise whatever a damaged file makes them stumble over
        raise FileFormatError(f"{path} cannot be read as {path.suffix}: {error}") from error
    return _dataset(path, arrays)


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


def _npy(path: Path) -> Arrays:
    return {"X": np.load(path, mmap_mode="r", allow_pickle=False)}


def _npz(path: Path) -> Arrays:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _by_blocks(path: Path) -> Arrays:
    """What holds nothing but vectors is read as everywhere else."""
    return {"X": open_vectors(path).read()}


def _mat(path: Path) -> Arrays:
    """MATLAB's own format, or since 7.3 HDF5, whose arrays are transposed."""
    with path.open("rb") as file:
        modern = b"MATLAB 7.3" in file.read(128)
    if modern:
        return {name: array.T for name, array in _hdf5(path).items()}
    loaded = loadmat(path)
    return {name: value for name, value in loaded.items() if isinstance(value, np.ndarray)}


def _mtx(path: Path) -> Arrays:
    """Matrix Market, or numbers of rows and columns followed by the numbers, row by row."""
    with path.open("rb") as file:
        head = file.readline(200)
    if head.startswith(b"%%MatrixMarket"):
        matrix = mmread(path)
        return {"X": matrix if isinstance(matrix, np.ndarray) else matrix.toarray()}
    with path.open() as text:
        sizes = [int(part) for part in text.readline().split()]
        values = np.fromstring(text.read(), sep=" ")
    if len(sizes) != 2 or sizes[0] * sizes[1] != len(values):
        raise FileFormatError(f"announces {sizes} rows and columns but holds {len(values)} numbers")
    return {"X": values.reshape(sizes)}


def _hdf5(path: Path) -> Arrays:
    try:
        import h5py
    except ImportError:
        raise InvalidInputError(f"{path} needs h5py to be read: pip install 'rankhash[data]'") from None
    with h5py.File(path, "r") as file:
        return {name: item[()] for name, item in file.items() if isinstance(item, h5py.Dataset) and item.ndim}


READERS: dict[str, Callable[[Path], Arrays]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".fvecs": _by_blocks,
    ".bvecs": _by_blocks,
    ".csv": _by_blocks,
    ".jsonl": _by_blocks,
    ".parquet": _by_blocks,
    ".mat": _mat,
    ".mtx": _mtx,
    ".hdf5": _hdf5,
    ".h5": _hdf5,
}

"""All arrays of a file by name, for files that hold more than vectors: `read_arrays`."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._types import Array
from ..errors import InvalidInputError
from .foreign import decoding
from .limits import check_expansion
from .npy import NpyHeader, read_npy_header


def read_arrays(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> dict[str, Array]:
    """The arrays of a ``.npy``, ``.npz`` or HDF5 file by name; that of a ``.npy`` is called ``X`` and memory-mapped.

    Sizes are checked against the size of the file before memory is allocated. All arrays together may take
    ``max_bytes``; None (default): a gigabyte, or 200 times the size of the file.

    Raises
    ------
    InvalidInputError
        If the file is damaged, truncated or holds Python objects.
    """
    path = Path(path)
    if path.suffix.lower() == ".npy":
        return {"X": _mapped(path)}
    return _archive(path, max_bytes) if path.suffix.lower() == ".npz" else read_hdf5(path, max_bytes)


def npy_header(path: str, file: IO[bytes]) -> NpyHeader:
    """The header of an array of the file ``path``, or an error that names the file."""
    try:
        return read_npy_header(file)
    except ValueError as error:
        raise InvalidInputError(f"{path} is not a readable NumPy array: {error}") from None


def open_hdf5(path: str) -> Any:
    """The open HDF5 file, or an error that names it."""
    try:
        import h5py
    except ImportError:
        raise InvalidInputError(f"{path} needs h5py: pip install 'rankhash[data]' (in a checkout: '.[data]')") from None
    with decoding(path, "HDF5 file"):
        return h5py.File(path, "r")


def _mapped(path: Path) -> Array:
    with path.open("rb") as file:
        header, start = _plain_header(path, file), file.tell()
        _check_size(path, start + header.n_bytes, os.fstat(file.fileno()).st_size)
        if not header.n_bytes:
            return np.empty(header.shape, header.dtype)
        order: Any = "F" if header.by_column else "C"
        return np.memmap(file, header.dtype, "r", start, header.shape, order)


def _archive(path: Path, max_bytes: int | None) -> dict[str, Array]:
    with decoding(path, ".npz archive"), zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if entry.filename.endswith(".npy")]
        check_expansion(path, sum(entry.file_size for entry in entries), max_bytes)
        return {entry.filename.removesuffix(".npy"): _member(path, archive, entry) for entry in entries}


def _member(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    with archive.open(entry) as file:
        header = _plain_header(path, file)
        _check_size(path, header.n_bytes, entry.file_size)
        data = file.read(header.n_bytes)
    _check_size(path, header.n_bytes, len(data))
    numbers: Array = np.frombuffer(data, header.dtype)
    return numbers.reshape(header.shape, order="F" if header.by_column else "C")


def _plain_header(path: Path, file: IO[bytes]) -> NpyHeader:
    header = npy_header(str(path), file)
    if header.dtype.hasobject:
        raise InvalidInputError(f"{path} holds Python objects, which are never opened; save arrays of numbers or text")
    return header


def _check_size(path: Path, expected: int, found: int) -> None:
    if found < expected:
        raise InvalidInputError(f"{path} is cut off: {expected} bytes belong there")


def read_hdf5(path: Path, max_bytes: int | None = None) -> dict[str, Array]:
    """The arrays of an HDF5 file, by name; groups are left out. ``max_bytes`` (default None) as above."""
    with decoding(path, "HDF5 file"), open_hdf5(str(path)) as file:
        arrays = {name: item for name, item in file.items() if getattr(item, "ndim", 0)}
        check_expansion(path, sum(item.nbytes for item in arrays.values()), max_bytes)
        return {name: item[()] for name, item in arrays.items()}

"""Files of vectors, read in blocks: `open_vectors`. All arrays of a file by name: `read_arrays`.

::

    open_vectors ─▶ VectorFile: arrays.py (npy, npz, fvecs, bvecs, HDF5)  lines.py (CSV, JSON lines)  parquet.py
    read_arrays  ─▶ named.py                   both over npy.py, the header of NumPy's format
    sidecars.py: ids and metadata in files of their own
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import InvalidInputError
from ._base import BLOCK_BYTES, MAX_FEATURES, Block, VectorFile
from .arrays import HdfFile, NpyFile, NpzFile, VecsFile
from .lines import CsvFile, JsonLinesFile
from .named import read_arrays
from .parquet import ParquetFile

__all__ = ["BLOCK_BYTES", "FORMATS", "MAX_FEATURES", "Block", "VectorFile", "open_vectors", "read_arrays"]

FORMATS: dict[str, Callable[[str, str | None, frozenset[str], int | None], VectorFile]] = {
    ".npy": NpyFile,
    ".npz": NpzFile,
    ".fvecs": VecsFile,
    ".bvecs": VecsFile,
    ".hdf5": HdfFile,
    ".h5": HdfFile,
    ".parquet": ParquetFile,
    ".csv": CsvFile,
    ".jsonl": JsonLinesFile,
    "-": JsonLinesFile,
}
"""Readers by file suffix; ``-`` is JSON lines on standard input."""


def open_vectors(
    path: str | os.PathLike[str],
    key: str | None = None,
    *,
    metadata: Sequence[str] = (),
    max_bytes: int | None = None,
) -> VectorFile:
    """The vectors of a file, to be read in blocks.

    Parameters
    ----------
    path
        A file whose name ends with one of `FORMATS`, or ``-`` for JSON lines on standard input.
    key
        Name of the array (``.npz``), dataset (HDF5) or list column (Parquet) that holds the vectors. None (default)
        takes the only one.
    metadata
        Columns of a CSV or Parquet file that are metadata of the items, not part of the vectors; default (), none. The
        column ``id`` is never part of the vectors.
    max_bytes
        Largest size of the decoded vectors, in bytes; None (default): the larger of a gigabyte and 200 times the size
        of the file. Files that claim more are refused as damaged.

    Raises
    ------
    InvalidInputError
        If the file has another format, is damaged, or holds no vectors.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.eye(3, 2))
    ...     data = open_vectors(f"{folder}/x.npy")
    ...     data.shape, [block.vectors.shape for block in data]
    ((3, 2), [(3, 2)])
    """
    name = os.fspath(path)
    suffix = "-" if name == "-" else Path(name).suffix.lower()
    if suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise InvalidInputError(f"{name} must be a file of vectors whose name ends with one of {known}")
    return FORMATS[suffix](name, key, frozenset(metadata), max_bytes)

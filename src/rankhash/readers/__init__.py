"""Files of vectors, read a block at a time: :func:`open_vectors`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import InvalidInputError
from ._base import BLOCK_BYTES, MAX_FEATURES, Block, VectorFile
from .arrays import HdfFile, NpyFile, NpzFile, VecsFile
from .lines import CsvFile, JsonLinesFile
from .parquet import ParquetFile

__all__ = ["BLOCK_BYTES", "FORMATS", "MAX_FEATURES", "Block", "VectorFile", "open_vectors"]

FORMATS: dict[str, Callable[[str, str | None, frozenset[str]], VectorFile]] = {
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
"""What reads a file, by the end of its name; ``-`` is JSON lines on standard input."""


def open_vectors(path: str | os.PathLike[str], key: str | None = None, *, metadata: Sequence[str] = ()) -> VectorFile:
    """The vectors of a file, to be read a block at a time.

    Parameters
    ----------
    path
        A file whose name ends with one of :data:`FORMATS`, or ``-`` for JSON lines on standard input.
    key
        Which array of an ``.npz``, dataset of an HDF5 file or list column of a Parquet file; it may be left out
        where there is only one.
    metadata
        Columns of a CSV or Parquet file that describe the items and are no part of the vectors. The column ``id``
        never is.

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
    return FORMATS[suffix](name, key, frozenset(metadata))

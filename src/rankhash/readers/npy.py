"""The header of NumPy's ``.npy`` format; the one parser for files, archives and request bodies."""

from __future__ import annotations

import math
import warnings
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from .foreign import first_line

VERSIONS = ((1, 0), (2, 0), (3, 0))


class NpyHeader(NamedTuple):
    """Shape, order and dtype of the array in a ``.npy`` file."""

    shape: tuple[int, ...]
    by_column: bool
    """Whether columns are contiguous instead of rows; False if there is only one dimension."""

    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """Size of the numbers in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy_header(file: IO[bytes]) -> NpyHeader:
    """The header at the beginning of ``file``; afterwards the file is positioned at the first number.

    No array is allocated, and no pickle is read.

    Raises
    ------
    ValueError
        If there is no valid ``.npy`` header; the message says why.
    """
    try:
        version = npy.read_magic(file)
        if version not in VERSIONS:
            raise ValueError(f"unknown version {version}")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # version 3.0 differs in the encoding of field names alone
            shape, by_column, dtype = read(file)
    except Exception as error:  # the header is Python text: whatever a parser of Python raises, TokenError among it
        raise ValueError(first_line(error)) from None
    if min(shape, default=0) < 0:
        raise ValueError(f"its shape is {shape}")
    return NpyHeader(shape, by_column and len(shape) > 1, dtype)

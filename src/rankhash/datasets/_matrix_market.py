"""Matrix Market files, read with NumPy: SciPy's reader ends the process at some damaged files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from .._types import F64, Array
from ..errors import FileFormatError
from ..readers.limits import check_expansion

FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
LONGEST = 1 << 16
"""Characters of a line before the numbers"""


def read_matrix_market(path: Path) -> Array:
    """The matrix of a file, dense: an array, or coordinates whose other entries are 0."""
    with path.open(encoding="ascii") as file:
        kind = file.readline(LONGEST).lower().split()[1:]
        line = "%"
        while line.startswith("%") or line.isspace():
            line = file.readline(LONGEST)
        sizes, values = [int(size) for size in line.split()], _numbers(file.read())
    if len(kind) != 4 or kind[0] != "matrix" or kind[2] not in FIELDS or kind[3] != "general":
        raise FileFormatError(f"must hold a general matrix of real numbers, got {' '.join(kind):.80}")
    if len(sizes) != (3 if kind[1] == "coordinate" else 2) or min(sizes) < 0:
        raise FileFormatError(f"announces its size by {line.strip()[:80]!r}")
    check_expansion(path, 8 * sizes[0] * sizes[1], None)
    if kind[1] == "coordinate":
        return _sparse(values, (sizes[0], sizes[1]), sizes[2], has_values=kind[2] != "pattern")
    matrix: F64 = _shaped(values, (sizes[1], sizes[0])).T
    return matrix


def _numbers(text: str) -> F64:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of text behind the numbers, which are too few then
        return np.fromstring(text, sep=" ")


def _shaped(values: F64, shape: tuple[int, int]) -> F64:
    if len(values) != shape[0] * shape[1]:
        raise FileFormatError(f"announces {shape[0] * shape[1]} numbers but holds {len(values)}")
    return values.reshape(shape)


def _sparse(values: F64, shape: tuple[int, int], n: int, *, has_values: bool) -> F64:
    entries = _shaped(values, (n, 2 + has_values))
    places = entries[:, :2] - 1
    if not ((places >= 0) & (places < shape) & (places == np.floor(places))).all():
        raise FileFormatError(f"has coordinates outside of {shape[0]} rows and {shape[1]} columns")
    dense = np.zeros(shape)
    np.add.at(dense, tuple(places.astype(np.int64).T), entries[:, 2] if has_values else 1.0)
    return dense

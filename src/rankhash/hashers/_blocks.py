"""Blocks of rows, which bound the size of intermediate arrays for any number of vectors."""

from __future__ import annotations

import os
from collections.abc import Iterator

from .._types import F32
from ..vectors import VectorBatches

BLOCK_FLOATS = 1 << 18
"""Entries of the widest array of a block of rows."""

PART_FLOATS = 1 << 17
"""Entries of a part that is converted to float64."""

SQUARE_COPIES = 3
"""Matrices of d × d that a decomposition takes: the matrix, its eigenvectors and a work space."""


def block_rows(*widths: int) -> int:
    """Number of rows per block, for arrays of these widths."""
    return max(1, BLOCK_FLOATS // max(widths))


def check_square(d: int) -> None:
    """Raise MemoryError if a matrix ``(d, d)`` of float64 and what computing with it needs exceed the machine's memory.

    The system may grant more memory than there is, and end the process once it is used.
    """
    if SQUARE_COPIES * 8 * d * d > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise MemoryError


def parts(data: VectorBatches) -> Iterator[tuple[int, F32]]:
    """The checked vectors in parts that are smaller than batches, each with the number of its first row.

    A float64 copy of a part takes 1 MB.
    """
    start = 0
    for batch in data:
        step = max(1, PART_FLOATS // data.n_features)
        for first in range(0, len(batch), step):
            yield start + first, batch[first : first + step]
        start += len(batch)

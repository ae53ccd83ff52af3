"""Codes as rows of 64-bit words, the form in which other systems compare them: ``bit_count(xor(a, b))``.

::

    codes (n, n_bytes) uint8  ⇄  words (n, ceil(n_bytes / 8)) uint64, little endian, filled up with zeros
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..codes import CodeLayout
from ..errors import LayoutMismatchError

U8 = NDArray[np.uint8]
U64 = NDArray[np.uint64]


def n_words(layout: CodeLayout) -> int:
    """How many words a code takes."""
    return -(-layout.n_bytes // 8)


def to_words(codes: U8) -> U64:
    """The words of codes.

    >>> to_words(np.array([[1, 2], [255, 0]], np.uint8))
    array([[513],
           [255]], dtype=uint64)
    """
    padded = np.zeros((len(codes), -(-codes.shape[1] // 8) * 8), np.uint8)
    padded[:, : codes.shape[1]] = codes
    return padded.view("<u8").astype(np.uint64, copy=False)


def from_words(words: U64, layout: CodeLayout) -> U8:
    """The codes of words ``(n, n_words)``, whose bits beyond the code must be 0."""
    if words.ndim != 2 or words.shape[1] != n_words(layout):
        raise LayoutMismatchError(
            f"codes of {layout.n_symbols} symbols of arity {layout.arity} take {n_words(layout)} words, got the shape "
            f"{words.shape}"
        )
    padded: U8 = np.ascontiguousarray(words, "<u8").view(np.uint8)
    if padded[:, layout.n_bytes :].any():
        raise LayoutMismatchError(f"words hold bits beyond the {layout.n_bytes} bytes of a code; is it another layout?")
    return layout.check(padded[:, : layout.n_bytes])

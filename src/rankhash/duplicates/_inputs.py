"""The input of a join: codes in the order of their ids, from an index or an array."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _kernels
from .._types import F32, I64, U8
from ..codes import CodeLayout
from ..errors import InvalidInputError, LayoutMismatchError
from ..index import Index

MOST_CODES = 2**32 - 1
_BATCH = 1 << 16
_LARGEST = float(np.finfo(np.float32).max)


class JoinCodes(NamedTuple):
    """Codes (n, n_bytes) with ascending ids (n,); ids None: the positions."""

    layout: CodeLayout
    codes: U8
    ids: I64 | None

    @property
    def shape(self) -> tuple[int, int]:
        """The layout as the native core takes it: n_symbols, arity."""
        return self.layout.n_symbols, self.layout.arity

    def named(self, positions: I64) -> I64:
        """The ids at the positions."""
        return positions if self.ids is None else self.ids[positions]

    def view(self, blocks: U8, first: int) -> _kernels.CodesView:
        """The codes from ``first`` on, a multiple of BLOCK, as input of a scan; ids are positions minus ``first``."""
        size = len(self.codes) - first
        return _kernels.CodesView(blocks[first // _kernels.BLOCK :], size, *self.shape, None, None, size)

    def blocks(self) -> U8:
        """The codes as bit slices, the input of scans."""
        blocks = _kernels.allocate_blocks(len(self.codes), self.layout.bits)
        for start in range(0, len(self.codes), _BATCH):
            _kernels.write_slices(blocks, start, self.codes[start : start + _BATCH])
        return blocks


def as_join_codes(codes: Index | ArrayLike, layout: CodeLayout | None) -> JoinCodes:
    """The codes of an index, or an array of codes with its layout; None: every bit of the array is a symbol."""
    if isinstance(codes, Index):
        if layout is not None and layout != codes.layout:
            raise LayoutMismatchError(f"layout must be that of the index or None, got {layout}")
        ids = codes.ids
        parts = [codes.get(ids[start : start + _BATCH]) for start in range(0, len(ids), _BATCH)]
        found = JoinCodes(codes.layout, np.concatenate([np.empty((0, codes.layout.n_bytes), np.uint8), *parts]), ids)
    else:
        array = np.asarray(codes)
        if layout is None:
            if array.ndim != 2 or not array.shape[1] or array.dtype != np.uint8:
                raise InvalidInputError(
                    f"codes without a layout must be uint8 of the shape (n, n_bytes), got {array.dtype} {array.shape}"
                )
            layout = CodeLayout(8 * array.shape[1], 2)
        found = JoinCodes(layout, layout.check(array), None)
    if len(found.codes) > MOST_CODES:
        raise InvalidInputError(f"near_pairs takes at most {MOST_CODES} codes, got {len(found.codes)}")
    return found


def as_weights(weights: ArrayLike | None, layout: CodeLayout) -> F32 | None:
    """The weights of the symbols, or None."""
    if weights is None:
        return None
    values = np.ascontiguousarray(weights, dtype=np.float32)
    if values.shape != (layout.n_symbols,):
        raise LayoutMismatchError(
            f"weights must be one for each of {layout.n_symbols} symbols, got the shape {values.shape}"
        )
    if not (np.isfinite(values).all() and (values >= 0).all() and values.sum(dtype=np.float64) < _LARGEST):
        raise InvalidInputError("weights must be finite and not negative, and so must be their sum")
    return values

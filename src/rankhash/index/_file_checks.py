"""Consistency checks of index files: no number in a file may lead outside of an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _kernels
from .._types import I64, U8
from ..codes import CodeLayout
from ..errors import FileFormatError, IdError


def expect(condition: bool, message: str) -> None:
    """Raise unless the condition holds."""
    if not condition:
        raise FileFormatError(message)


def check_array(name: str, array: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    """Raise unless the array has the type and the shape."""
    found = f"{array.dtype} {array.shape}"
    expect(array.dtype == dtype and array.shape == shape, f"{name} is {found}, not {np.dtype(dtype)} {shape}")


def check_contents(
    layout: CodeLayout, numbers: tuple[int, int, int], blocks: U8, ids: I64 | None, live: U8 | None
) -> int:
    """The number of dead codes in the contents of a file; raises unless its sizes and ids are consistent.

    ``numbers`` are the numbers of codes and of those in order, and the next id.
    """
    size, n_ordered, next_id = numbers
    n_blocks = -(-size // _kernels.BLOCK)
    check_array("blocks", blocks, np.uint8, (n_blocks, layout.bits, _kernels.SLICE))
    if ids is not None:
        check_array("ids", ids, np.int64, (size,))
    if live is not None:
        check_array("live", live, np.uint8, (n_blocks * _kernels.SLICE,))
    in_order = 0 <= n_ordered <= size and (ids is not None or n_ordered == size)
    expect(in_order, f"{n_ordered} of {size} codes are in order")
    largest = size - 1 if ids is None or not size else _largest_id(ids, n_ordered)
    if next_id <= largest:
        raise IdError(f"the next id is {next_id}, but {largest} is taken")
    return 0 if live is None else size - int(np.unpackbits(np.asarray(live), count=size, bitorder="little").sum())


def check_codes(layout: CodeLayout, blocks: U8, size: int) -> None:
    """Raise if a symbol of a code is not below the arity; reads all codes."""
    bad = _kernels.first_invalid_position(blocks, size, layout.n_symbols, layout.arity)
    expect(bad < 0, f"the code at position {bad} has a symbol that is not below the arity {layout.arity}")


def _largest_id(ids: I64, n_ordered: int) -> int:
    """The largest id; raises if ids are negative, repeated, or out of order among the first ``n_ordered``."""
    ordered = ids[:n_ordered]
    if ids.min() < 0 or (ordered[1:] <= ordered[:-1]).any():
        raise IdError("ids are negative or out of order")
    if n_ordered < len(ids) and len(np.unique(ids)) < len(ids):
        raise IdError("ids are repeated")
    return int(ids.max())

"""Consistency checks of index files: no number in a file may lead outside of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _kernels
from ..errors import FileFormatError, IdError

if TYPE_CHECKING:
    from ._store import CodeStore


def expect(condition: bool, message: str) -> None:
    """Raise unless the condition holds."""
    if not condition:
        raise FileFormatError(message)


def check_array(name: str, array: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    """Raise unless the array has the type and the shape."""
    found = f"{array.dtype} {array.shape}"
    expect(array.dtype == dtype and array.shape == shape, f"{name} is {found}, not {np.dtype(dtype)} {shape}")


def check_store(store: CodeStore) -> None:
    """Check sizes and ids of a store that was read from a file, and count its dead codes."""
    n_blocks = -(-store.size // _kernels.BLOCK)
    check_array("blocks", store.blocks, np.uint8, (n_blocks, store.layout.bits, _kernels.SLICE))
    if store.ids is not None:
        check_array("ids", store.ids, np.int64, (store.size,))
    if store.live is not None:
        check_array("live", store.live, np.uint8, (n_blocks * _kernels.SLICE,))
    in_order = 0 <= store.n_ordered <= store.size and (store.ids is not None or store.n_ordered == store.size)
    expect(in_order, f"{store.n_ordered} of {store.size} codes are in order")
    _check_ids(store)
    if store.live is not None:
        flags = np.unpackbits(np.asarray(store.live), count=store.size, bitorder="little")
        store.n_dead = store.size - int(flags.sum())


def check_codes(store: CodeStore) -> None:
    """Raise if a symbol of a code is not below the arity; reads all codes."""
    layout = store.layout
    bad = _kernels.first_invalid_position(store.blocks, store.size, layout.n_symbols, layout.arity)
    expect(bad < 0, f"the code at position {bad} has a symbol that is not below the arity {layout.arity}")


def _check_ids(store: CodeStore) -> None:
    largest = store.size - 1
    if store.ids is not None and store.size:
        ordered = store.ids[: store.n_ordered]
        if store.ids.min() < 0 or (ordered[1:] <= ordered[:-1]).any():
            raise IdError("ids are negative or out of order")
        if store.n_ordered < store.size and len(np.unique(store.ids)) < store.size:
            raise IdError("ids are repeated")
        largest = int(store.ids.max())
    if store.next_id <= largest:
        raise IdError(f"the next id is {store.next_id}, but {largest} is taken")

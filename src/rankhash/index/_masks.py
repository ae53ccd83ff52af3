"""Filters as masks: one bit per position of a store."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from .._types import I64, U8, Flags
from ..errors import InvalidInputError
from ._store import CodeStore


def mask(store: CodeStore, chosen: Any) -> U8 | None:
    """The mask of the positions that a search may find, for a filter as in `FlatIndex.search`."""
    if chosen is None:
        return store.live
    chosen = np.asarray(chosen)
    if chosen.ndim != 1:
        raise InvalidInputError(f"filter must be one-dimensional, got the shape {chosen.shape}")
    if chosen.dtype == bool or chosen.dtype == np.uint8:
        return _mask_of_flags(store, chosen)
    if chosen.dtype.kind not in "iu" and chosen.size:
        raise InvalidInputError(f"filter must be ids, a boolean mask or a uint8 bitmap, got {chosen.dtype}")
    positions = store.find_living(chosen.astype(np.int64))
    return _mask_of_positions(store, positions[positions >= 0])


def _mask_of_positions(store: CodeStore, positions: I64) -> U8:
    flags = np.zeros(len(store.blocks) * _kernels.BLOCK, dtype=bool)
    flags[positions] = True
    return np.packbits(flags, bitorder="little")


def _mask_of_flags(store: CodeStore, chosen: NDArray[Any]) -> U8:
    n = len(store)
    expected = n if chosen.dtype == bool else -(-n // 8)
    if len(chosen) != expected:
        what = "a boolean mask" if chosen.dtype == bool else "a uint8 bitmap"
        raise InvalidInputError(f"{what} over {n} codes must have {expected} entries, got {len(chosen)}")
    if store.live is not None or store.n_ordered < store.size:
        flags = chosen if chosen.dtype == bool else np.unpackbits(chosen, count=n, bitorder="little").view(bool)
        if store.n_ordered < store.size:
            return _mask_of_positions(store, store.positions_by_id()[flags])
        return _mask_of_living(store, flags)
    bits = np.zeros(len(store.blocks) * _kernels.SLICE, np.uint8)
    bits[: -(-n // 8)] = np.packbits(chosen, bitorder="little") if chosen.dtype == bool else chosen
    return bits


def _mask_of_living(store: CodeStore, chosen: Flags) -> U8:
    """The mask of one flag per live code, for a store whose ids ascend with the positions."""
    assert store.live is not None
    alive = np.unpackbits(store.live, count=store.size, bitorder="little").view(bool)
    flags = np.zeros(len(store.blocks) * _kernels.BLOCK, dtype=bool)
    flags[: store.size][alive] = chosen
    return np.packbits(flags, bitorder="little")

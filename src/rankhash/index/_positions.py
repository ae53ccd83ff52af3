"""Positions of codes: found by their ids, and marked in bits."""

from __future__ import annotations

import numpy as np

from .._types import I64, U8


def set_bits(bits: U8, positions: I64, value: bool) -> None:
    """Set the bits at the positions to ``value``, in place."""
    masks = np.left_shift(1, positions & 7).astype(np.uint8)
    if value:
        np.bitwise_or.at(bits, positions >> 3, masks)
    else:
        np.bitwise_and.at(bits, positions >> 3, ~masks)


def find_sorted(ids: I64, wanted: I64) -> I64:
    """The places of ``wanted`` in ascending ``ids``; -1 for values that do not occur."""
    if len(ids) == 0:
        return np.full(len(wanted), -1, np.int64)
    places = np.searchsorted(ids, wanted)
    places[places == len(ids)] = 0
    return np.where(ids[places] == wanted, places, -1)

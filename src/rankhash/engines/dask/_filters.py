"""A filter over all ids, split into one filter per shard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInputError


@dataclass(frozen=True)
class Span:
    """The number of codes of a shard, the offset of its ids, and its smallest and largest id among all codes."""

    size: int
    offset: int
    first: int
    last: int


def cut(chosen: Any, spans: Sequence[Span], *, ascending: bool, packed: bool = True) -> list[NDArray[Any] | None]:
    """The filter of each shard in a form that its search takes; None where nothing of the shard passes.

    ``ascending`` says that all ids of a shard are below those of the next shard, ``packed`` (True) that masks become
    bitmaps.
    """
    chosen = np.asarray(chosen)
    if chosen.ndim != 1:
        raise InvalidInputError(f"filter must be one-dimensional, got the shape {chosen.shape}")
    if chosen.dtype == bool or chosen.dtype == np.uint8:
        return _cut_mask(chosen, spans, ascending, packed)
    if chosen.dtype.kind not in "iu" and chosen.size:
        raise InvalidInputError(f"filter must be ids, a boolean mask or a uint8 bitmap, got {chosen.dtype}")
    ids = np.unique(chosen.astype(np.int64))
    parts = []
    for span in spans:
        part = ids[slice(*np.searchsorted(ids, [span.first, span.last + 1]))] - span.offset
        parts.append(part if len(part) else None)
    return parts


def _cut_mask(mask: NDArray[Any], spans: Sequence[Span], ascending: bool, packed: bool) -> list[NDArray[Any] | None]:
    if not ascending:
        raise InvalidInputError(
            "a mask says which of the ids in ascending order may be found, but here they go back and forth between "
            "the shards; give the ids themselves"
        )
    n = sum(span.size for span in spans)
    expected = n if mask.dtype == bool else -(-n // 8)
    if len(mask) != expected:
        what = "a boolean mask" if mask.dtype == bool else "a uint8 bitmap"
        raise InvalidInputError(f"{what} over {n} ids must have {expected} entries, got {len(mask)}")
    flags = mask if mask.dtype == bool else np.unpackbits(mask, count=n, bitorder="little").view(bool)
    parts: list[NDArray[Any] | None] = []
    start = 0
    for span in spans:
        part = flags[start : start + span.size]
        form = np.packbits(part, bitorder="little") if packed else part
        parts.append(form if part.any() else None)
        start += span.size
    return parts

"""Limits of the size of answers, checked before their contents are read."""

from __future__ import annotations

from collections.abc import Sequence

from ..collection import Snapshot
from ._errors import ApiError

MATCH_BYTES = 64
"""JSON of one match without its id, metadata and symbols"""
SYMBOL_BYTES = 3
"""JSON of one symbol, at most two digits and a comma"""


def check_page(limit: int, most: int) -> None:
    """Raise ApiError 422 if a page of ``limit`` items or groups is larger than ``most``."""
    if limit > most:
        raise ApiError(422, "limit", f"limit must be at most {most}, got {limit}", "ask for several pages")


def check(
    snapshot: Snapshot,
    shown: Sequence[int | str],
    names: Sequence[int | str],
    limit: int,
    *,
    metadata: bool,
    symbols: int,
) -> None:
    """Raise ApiError 422 if the items ``shown`` would take more than ``limit`` bytes.

    Parameters
    ----------
    shown
        The ids of the answer, with repetitions.
    names
        The same ids without repetition.
    limit
        Largest number of bytes.
    metadata
        Whether the answer shows metadata.
    symbols
        Number of symbols per item in the answer.
    """
    total = len(shown) * (MATCH_BYTES + SYMBOL_BYTES * symbols)
    total += sum(len(name) for name in shown if isinstance(name, str))
    if metadata and total <= limit:
        sizes = dict(zip(names, snapshot.metadata_bytes(names), strict=True))
        total += sum(sizes[name] for name in shown)
    if total > limit:
        raise ApiError(
            422,
            "limit",
            f"the answer would have about {total} bytes, and at most {limit} are allowed",
            "ask for fewer items, for fewer queries, or without metadata and symbols",
        )

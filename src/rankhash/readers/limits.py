"""How much a file may say that it holds: compressed formats can claim gigabytes in a few bytes."""

from __future__ import annotations

import os

from ..errors import InvalidInputError

ALWAYS = 1 << 30
"""Bytes that any file may hold."""

EXPANSION = 200
"""Bytes that a file may hold per byte of its own; compressed vectors of real data stay far below."""


def most_bytes(path: str | os.PathLike[str], max_bytes: int | None) -> int:
    """The limit of what is decoded from a file: ``max_bytes``, or what its size makes plausible."""
    return max(ALWAYS, EXPANSION * os.path.getsize(path)) if max_bytes is None else max_bytes


def check_expansion(path: str | os.PathLike[str], n_bytes: int, max_bytes: int | None) -> None:
    """Refuse a file that says that it holds more than its limit."""
    limit = most_bytes(path, max_bytes)
    if n_bytes > limit:
        raise InvalidInputError(
            f"{path} says that it holds {n_bytes:,} bytes, more than the limit of {limit:,}; "
            "if that is true, raise max_bytes"
        )

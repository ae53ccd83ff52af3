"""Limits of the decoded size of files: compressed formats can claim gigabytes in a few bytes."""

from __future__ import annotations

import os

from ..errors import InvalidInputError

ALWAYS = 1 << 30
"""Decoded bytes that are allowed for any file."""

EXPANSION = 200
"""Decoded bytes that are allowed per byte of the file; compressed vectors of real data stay far below."""


def most_bytes(path: str | os.PathLike[str], max_bytes: int | None) -> int:
    """The limit of the decoded size of a file: ``max_bytes``, or if that is None, max(1 GiB, 200 · its size)."""
    return max(ALWAYS, EXPANSION * os.path.getsize(path)) if max_bytes is None else max_bytes


def check_expansion(path: str | os.PathLike[str], n_bytes: int, max_bytes: int | None) -> None:
    """Refuse a file that claims more decoded bytes than its limit."""
    limit = most_bytes(path, max_bytes)
    if n_bytes > limit:
        raise InvalidInputError(
            f"{path} says that it holds {n_bytes:,} bytes, more than the limit of {limit:,}; "
            "if that is true, raise max_bytes"
        )

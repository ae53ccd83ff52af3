"""The interface of every file of vectors: its shape, and blocks of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._types import Array
from ..errors import InvalidInputError
from .limits import check_expansion

BLOCK_BYTES = 8 << 20
"""Size of a block in bytes, unless its number of rows is given."""

MAX_FEATURES = 1 << 20
"""Largest number of columns; a file with more is refused as damaged."""


class Block(NamedTuple):
    """Consecutive rows of a file."""

    vectors: Array
    """(n, n_features) numbers of the file, not checked for NaN"""

    ids: list[int | str] | None = None
    """The ids of the rows; None (default) if the file has no ids"""

    metadata: list[dict[str, Any] | None] | None = None
    """The metadata of the rows; None (default) if the file has none"""


class VectorFile(ABC):
    """A file of vectors, read block by block; only the current block is in memory."""

    def __init__(self, path: str, key: str | None, metadata: frozenset[str], max_bytes: int | None = None) -> None:
        self.path = path
        self.key = key
        self.metadata = metadata
        self.max_bytes = max_bytes
        self.n_rows: int | None = None
        """Number of rows; None if it is known only at the end of the file"""
        self.n_features = 0
        self.dtype: np.dtype[Any] = np.dtype(np.float32)
        self._inspect()

    @abstractmethod
    def _inspect(self) -> None:
        """Set ``n_rows``, ``n_features`` and ``dtype``."""

    @abstractmethod
    def _read(self, step: int) -> Iterator[Block]:
        """Blocks of ``step`` rows; the last one may be shorter."""

    @property
    def shape(self) -> tuple[int | None, int]:
        """``(n_rows, n_features)``"""
        return self.n_rows, self.n_features

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r}, shape={self.shape}, dtype={self.dtype})"

    def __iter__(self) -> Iterator[Block]:
        return self.blocks()

    def blocks(self, n_rows: int | None = None) -> Iterator[Block]:
        """The file from its beginning, in blocks of ``n_rows`` rows; default None: blocks of `BLOCK_BYTES`."""
        return self._read(n_rows or max(1, BLOCK_BYTES // max(1, self.n_features * self.dtype.itemsize)))

    def read(self, n_rows: int | None = None) -> Array:
        """The first ``n_rows`` vectors in one array; default None: all vectors."""
        parts: list[Array] = []
        missing = n_rows
        for block in self:
            parts.append(block.vectors[:missing])
            if missing is not None:
                missing -= len(parts[-1])
                if missing <= 0:
                    break
        return np.concatenate(parts) if parts else np.empty((0, self.n_features), self.dtype)

    def _set_shape(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        if len(shape) != 2:
            raise self._wrong(f"holds an array of shape {shape}, but vectors are the rows of a 2D array")
        if dtype.kind not in "fiub":
            raise self._wrong(f"holds {dtype}, but vectors are numbers")
        if not 1 <= shape[1] <= MAX_FEATURES:
            raise self._wrong(f"has vectors of {shape[1]} numbers; 1 to {MAX_FEATURES} can be read")
        self.n_rows, self.n_features, self.dtype = int(shape[0]), int(shape[1]), dtype
        check_expansion(self.path, self.n_rows * self.n_features * dtype.itemsize, self.max_bytes)

    def _choose(self, names: list[str], what: str) -> str:
        """``key``, or the only name."""
        shown = ", ".join(names[:20])
        if self.key is not None:
            if self.key not in names:
                raise self._wrong(f"has no {what} {self.key!r}; there are {shown or 'none'}")
            return self.key
        if len(names) != 1:
            raise self._wrong(f"has {len(names)} {what}s that could be vectors; choose one by its key: {shown}")
        return names[0]

    def _no_metadata(self) -> None:
        if self.metadata:
            raise self._wrong(f"has no columns that could be metadata: {', '.join(sorted(self.metadata))}")

    def _wrong(self, what: str) -> InvalidInputError:
        return InvalidInputError(f"{'standard input' if self.path == '-' else self.path} {what}")

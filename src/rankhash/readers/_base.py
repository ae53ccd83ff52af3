"""What every file of vectors offers: its shape, and blocks of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError

BLOCK_BYTES = 8 << 20
"""Bytes of vectors in a block, unless its number of rows is given."""

MAX_FEATURES = 1 << 20
"""Columns that a file may have; more are taken for damage."""


class Block(NamedTuple):
    """Some consecutive rows of a file."""

    vectors: NDArray[Any]
    """(n, n_features) numbers as the file has them, not checked for NaN"""

    ids: list[int | str] | None = None
    """Their ids, where the file names them"""

    metadata: list[dict[str, Any] | None] | None = None
    """What describes them, where the file says so"""


class VectorFile(ABC):
    """A file of vectors; nothing of it is held in memory but the block that is being read."""

    def __init__(self, path: str, key: str | None, metadata: frozenset[str]) -> None:
        self.path = path
        self.key = key
        self.metadata = metadata
        self.n_rows: int | None = None
        """Rows, or None where that is known only at the end"""
        self.n_features = 0
        self.dtype: np.dtype[Any] = np.dtype(np.float32)
        self._inspect()

    @abstractmethod
    def _inspect(self) -> None:
        """Find out ``n_rows``, ``n_features`` and ``dtype``."""

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
        """The file from its beginning in blocks of ``n_rows`` rows, or of :data:`BLOCK_BYTES`."""
        return self._read(n_rows or max(1, BLOCK_BYTES // max(1, self.n_features * self.dtype.itemsize)))

    def read(self, n_rows: int | None = None) -> NDArray[Any]:
        """All vectors in one array, or the first ``n_rows``."""
        parts: list[NDArray[Any]] = []
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

    def _choose(self, names: list[str], what: str) -> str:
        """``key``, or the only name that there is."""
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

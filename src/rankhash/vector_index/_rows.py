"""The vectors themselves, for true distances: float32, float16 or int8 rows, in memory or in a mapped file."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _kernels
from .._types import F32, I64, U8, Array

_NO_FACTORS = np.empty(0, np.float32)


class Rows:
    """Rows that are only ever added: ``head`` as it was loaded, perhaps mapped, and ``tail`` behind it in memory."""

    def __init__(self, depth: int, dtype: str, head: Array | None = None, factors: F32 | None = None) -> None:
        self.depth, self.dtype = depth, dtype
        self.head: Array = np.empty((0, depth), dtype) if head is None else head
        self._tail: Array = np.empty((0, depth), dtype)
        self._factors: F32 = _NO_FACTORS if factors is None else factors
        self.size = len(self.head)
        self._view: tuple[_kernels.RowsView, Array] | None = None

    def __len__(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        """Bytes of the rows and their factors, in memory or mapped."""
        return self.head.nbytes + self._tail.nbytes + self._factors.nbytes

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.depth * np.dtype(self.dtype).itemsize

    @property
    def tail(self) -> Array:
        """The rows behind the head."""
        return self._tail[: self.size - len(self.head)]

    @property
    def factors(self) -> F32 | None:
        """What each int8 row is multiplied with; None for the other types."""
        return self._factors[: self.size] if self.dtype == "int8" else None

    def append(self, vectors: F32) -> None:
        """Add rows."""
        used, n = self.size - len(self.head), len(vectors)
        if used + n > len(self._tail):
            self._tail = _grown(self._tail, used, n)
        if self.dtype == "int8":
            if self.size + n > len(self._factors):
                self._factors = _grown(self._factors, self.size, n)
            factors = np.maximum(np.abs(vectors).max(axis=1, initial=0) / np.float32(127), np.float32(1e-30))
            self._factors[self.size : self.size + n] = factors
            self._tail[used : used + n] = np.rint(vectors / factors[:, None])
        else:
            self._tail[used : used + n] = vectors
        self.size += n

    def take(self, numbers: I64) -> F32:
        """The vectors ``(n, depth)`` of the given rows."""
        split = len(self.head)
        out = np.empty((len(numbers), self.depth), np.float32)
        old = numbers < split
        out[old] = self.head[numbers[old]]
        out[~old] = self._tail[numbers[~old] - split]
        return out if self.factors is None else out * self._factors[numbers][:, None]

    def chosen(self, numbers: I64) -> Rows:
        """New rows in memory: the given ones, in that order, bit by bit."""
        split = len(self.head)
        kept = Rows(self.depth, self.dtype)
        kept._tail = np.empty((len(numbers), self.depth), self.dtype)
        old = numbers < split
        kept._tail[old] = self.head[numbers[old]]
        kept._tail[~old] = self._tail[numbers[~old] - split]
        kept._factors = self._factors[numbers] if self.dtype == "int8" else _NO_FACTORS
        kept.size = len(numbers)
        return kept

    def view(self) -> _kernels.RowsView:
        """What a search reads; kept until rows are added."""
        kept, size, tail = self._view, self.size, self._tail
        if kept is None or kept[0].size != size or kept[1] is not tail:
            view = _kernels.RowsView(_bytes(self.head), _bytes(tail), size, self.factors, self.depth, self.dtype)
            kept = self._view = view, tail
        return kept[0]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_view": None}


def no_rows(depth: int) -> _kernels.RowsView:
    """The view of an index that keeps no vectors."""
    nothing = np.empty((0, depth * 4), np.uint8)
    return _kernels.RowsView(nothing, nothing, 0, None, depth, "float32")


def _grown(array: Array, used: int, n: int) -> Array:
    grown = np.empty((used + n + (used + n) // 4 + 64, *array.shape[1:]), array.dtype)
    grown[:used] = array[:used]
    return grown


def _bytes(rows: Array) -> U8:
    return rows.view(np.uint8).reshape(len(rows), -1) if len(rows) else np.empty((0, 1), np.uint8)

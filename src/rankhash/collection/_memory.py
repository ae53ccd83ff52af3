"""The index in memory, and how it follows the commits of this and other processes."""

from __future__ import annotations

import sqlite3

import numpy as np
from numpy.typing import NDArray

from ..codes import CodeLayout
from ..errors import FileFormatError, IdError
from ..index import FlatIndex, Index
from ..index._later import LaterIndex
from . import _chunks, _removed
from ._schema import State

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]


KINDS = {"auto": 1_000_000, "flat": None, "tables": 0}
"""Kinds of index, and from how many codes on they have hash tables; below, scanning is about as fast."""


class Memory:
    """All codes that can be found, under their numbers, as of one generation."""

    def __init__(self, layout: CodeLayout, kind: str) -> None:
        self._layout = layout
        self._kind = kind
        self._reset()

    def _reset(self) -> None:
        self.index = new_index(self._layout, self._kind)
        self.generation = -1
        self.epoch = -1
        self._next = 0  # numbers below it are in the index, or removed
        self._removed: dict[int, U8] = {}

    def follow(self, connection: sqlite3.Connection, state: State) -> None:
        """Take in what was committed since, up to the state that the connection sees."""
        if state.epoch != self.epoch:
            self._reset()
        try:
            self._take_removed(_removed.read_newer(connection, self.generation))
            self._take_codes(connection)
            if len(self.index) != state.n_items:
                raise FileFormatError(f"is damaged: {len(self.index)} items are left of {state.n_items}")
        except IdError as error:
            self._reset()
            raise FileFormatError(f"is damaged: its items contradict each other: {error}") from error
        except BaseException:
            self._reset()
            raise
        self.generation, self.epoch = state.generation, state.epoch

    def _take_removed(self, pages: dict[int, U8]) -> None:
        for page, bits in pages.items():
            before = self._removed.get(page)
            numbers = _removed.numbers_of(page, bits if before is None else bits & ~before)
            self._removed[page] = bits
            self._remove(numbers[numbers < self._next])

    def _take_codes(self, connection: sqlite3.Connection) -> None:
        layout, start = self._layout, self._next
        n_codes = _chunks.count(connection, layout, start)
        codes = np.empty((n_codes, layout.n_bytes), np.uint8)
        chunks: list[_chunks.Chunk] = []
        filled = 0
        for chunk in _chunks.read(connection, layout, start):
            codes[filled : filled + len(chunk.codes)] = chunk.codes
            filled += len(chunk.codes)
            chunks.append(_chunks.Chunk(chunk.first, chunk.last, chunk.numbers, None, chunk.codes[:0]))
        if not chunks:
            return
        self.index.add(codes[:filled], ids=None if _are_next(chunks, start) else _all_numbers(chunks))
        self._next = chunks[-1].last + 1
        self._remove(self._dead_among(chunks))

    def _dead_among(self, chunks: list[_chunks.Chunk]) -> I64:
        """The numbers of chunks that were removed."""
        first, last = chunks[0].first, chunks[-1].last
        pages = [
            page
            for page in sorted(self._removed)
            if first < (page + 1) * _removed.PAGE and page * _removed.PAGE <= last
        ]
        if not pages:
            return np.empty(0, np.int64)
        dead = np.concatenate([_removed.numbers_of(page, self._removed[page]) for page in pages])
        parts = []
        for chunk in chunks:
            some = dead[np.searchsorted(dead, chunk.first) : np.searchsorted(dead, chunk.last, side="right")]
            parts.append(some if chunk.numbers is None else some[np.isin(some, chunk.numbers)])
        return np.concatenate(parts)

    def _remove(self, numbers: I64) -> None:
        if len(numbers):
            self.index.remove(numbers)


def new_index(layout: CodeLayout, kind: str) -> Index:
    """An empty index: one of :data:`KINDS`."""
    return FlatIndex(layout) if kind == "flat" else LaterIndex(layout)


def _are_next(chunks: list[_chunks.Chunk], start: int) -> bool:
    """Whether the chunks hold all numbers from ``start`` on."""
    for chunk in chunks:
        if chunk.numbers is not None or chunk.first != start:
            return False
        start = chunk.last + 1
    return True


def _all_numbers(chunks: list[_chunks.Chunk]) -> I64:
    return np.concatenate([chunk.all_numbers() for chunk in chunks])

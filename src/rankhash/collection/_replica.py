"""The index in memory: a replica of the codes and vectors in the file, which follows its commits.

::

    chunks         ──▶ index     codes, if there is a hasher
                   ──▶ vectors   cells and codes, if they were learned without a hasher
    vector_chunks  ──▶ vectors   at once without a hasher, else from the first search that needs them
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable

import numpy as np

from .._types import I64, U8
from ..codes import CodeLayout
from ..errors import FileFormatError, IdError, InvalidInputError
from ..index import FlatIndex, Index
from ..index.background import BackgroundLookupIndex
from ..vector_index.numbered import NumberedVectors
from . import _chunks, _removed, _vectors
from ._encoding import Encoding
from ._schema import Counters

KINDS = {"auto": 1_000_000, "flat": None, "lookup": 0}
"""Kinds of index, and their smallest number of codes with hash tables; below, a scan is about as fast"""


class Replica:
    """The codes and vectors of all items, under their numbers, as of one generation."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._loading = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self.encoding: Encoding | None = None
        self.index: Index | None = None
        self.vectors: NumberedVectors | None = None
        self.generation = -1
        self.epoch = -1
        self._next_code = 0  # numbers below it are in the index, or removed
        self._next_vector = 0  # the same for the vectors
        self._wants_vectors = False
        self._removed: dict[int, U8] = {}

    @property
    def numbers(self) -> I64:
        """The numbers of all items, ascending."""
        if self.index is not None:
            return self.index.ids
        return np.empty(0, np.int64) if self.vectors is None else self.vectors.numbers

    @property
    def nbytes(self) -> int:
        """Bytes of memory of codes and vectors."""
        return sum(0 if part is None else part.nbytes for part in (self.index, self.vectors))

    def follow(self, connection: sqlite3.Connection, counters: Counters, encoding: Encoding) -> None:
        """Load all commits up to the one that the connection sees."""
        if counters.epoch != self.epoch:
            self._reset()
        try:
            self._adopt(encoding)
            self._load_removed(_removed.read_newer(connection, self.generation))
            if self.index is not None:
                self._load_codes(connection, encoding.codes)
            if self._wants_vectors:
                self._load_vectors(connection)
            if encoding.learned is not None:
                self._load_cells(connection, encoding.codes)
            if len(self.numbers) != counters.n_items:
                raise FileFormatError(f"is damaged: {len(self.numbers)} items are left of {counters.n_items}")
        except IdError as error:
            self._reset()
            raise FileFormatError(f"is damaged: its items contradict each other: {error}") from error
        except BaseException:
            self._reset()
            raise
        self.generation, self.epoch = counters.generation, counters.epoch

    def with_vectors(self, connection: sqlite3.Connection) -> NumberedVectors | None:
        """The vectors, loaded on first use; the connection must see the replica's own commit.

        Vectors loaded before an interruption are kept, so that the next call continues from there.
        """
        with self._loading:
            if not self._wants_vectors:
                self._load_vectors(connection)
                if self.vectors is not None and len(self.vectors) != len(self.numbers):
                    found = len(self.vectors)
                    self.vectors, self._next_vector = self._new_vectors(), 0
                    raise FileFormatError(f"is damaged: {found} vectors are left of {len(self.numbers)}")
                self._wants_vectors = True
        return self.vectors

    def _new_vectors(self) -> NumberedVectors | None:
        return None if self.encoding is None else self.encoding.new_replica()

    def _adopt(self, encoding: Encoding) -> None:
        before, self.encoding = self.encoding, encoding
        if before is not None and before.number == encoding.number:
            return
        if before is None or before.hasher is not encoding.hasher:
            self.index = None if encoding.layout is None else new_index(encoding.layout, self._kind)
            self._next_code = 0
        if self.vectors is None:
            self.vectors = self._new_vectors()
        if self.vectors is not None and self.vectors.adopt(encoding.learned) and encoding.hasher is None:
            self._next_code = 0
        self._wants_vectors |= encoding.hasher is None

    # -- loading ---------------------------------------------------------------------------------------------------

    def _load_removed(self, pages: dict[int, U8]) -> None:
        for page, bits in pages.items():
            before = self._removed.get(page)
            numbers = _removed.numbers_of(page, bits if before is None else bits & ~before)
            self._removed[page] = bits
            if self.index is not None:
                _remove(self.index.remove, numbers[numbers < self._next_code])
            if self.vectors is not None and self._next_vector:
                _remove(self.vectors.remove, numbers[numbers < self._next_vector])

    def _load_codes(self, connection: sqlite3.Connection, format: _chunks.RowFormat) -> None:
        assert self.index is not None
        start = self._next_code
        codes = np.empty((_chunks.count(connection, format, start), format.n_bytes), np.uint8)
        chunks: list[_chunks.Chunk] = []
        filled = 0
        for chunk in _chunks.read(connection, format, start):
            codes[filled : filled + len(chunk.rows)] = chunk.rows
            filled += len(chunk.rows)
            chunks.append(_chunks.Chunk(chunk.first, chunk.last, chunk.numbers, None, chunk.rows[:0]))
        if not chunks:
            return
        self.index.add(codes[:filled], ids=None if _are_consecutive(chunks, start) else _all_numbers(chunks))
        self._next_code = chunks[-1].last + 1
        _remove(self.index.remove, self._removed_among(chunks))

    def _load_vectors(self, connection: sqlite3.Connection) -> None:
        encoding, vectors = self.encoding, self.vectors
        if encoding is None or encoding.vectors is None or vectors is None:
            return
        found = _vectors.chunks(connection, encoding.vectors, self._next_vector, in_rows=encoding.in_rows)
        for chunk in found:
            try:
                vectors.append(_vectors.as_float32(chunk.rows, encoding.vector_kind), chunk.all_numbers())
            except InvalidInputError as error:
                raise FileFormatError(f"is damaged: numbers {chunk.first} to {chunk.last}: {error}") from None
            self._next_vector = chunk.last + 1
            _remove(vectors.remove, self._removed_among([chunk]))

    def _load_cells(self, connection: sqlite3.Connection, format: _chunks.RowFormat) -> None:
        assert self.vectors is not None
        new = self.vectors.numbers
        new = new[np.searchsorted(new, self._next_code) :]
        placed = [np.empty(0, np.int64)]
        for chunk in _chunks.read(connection, format, self._next_code):
            placed.append(self.vectors.place(chunk.all_numbers(), chunk.rows))
            self._next_code = chunk.last + 1
        if not np.array_equal(np.concatenate(placed), new):
            raise FileFormatError("is damaged: its codes and its vectors are not those of the same items")

    def _removed_among(self, chunks: list[_chunks.Chunk]) -> I64:
        """The removed numbers among those of the chunks."""
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


def _remove(remove: Callable[[I64], object], numbers: I64) -> None:
    if len(numbers):
        remove(numbers)


def new_index(layout: CodeLayout, kind: str) -> Index:
    """An empty index of one of the ``KINDS``."""
    return FlatIndex(layout) if kind == "flat" else BackgroundLookupIndex(layout)


def _are_consecutive(chunks: list[_chunks.Chunk], start: int) -> bool:
    """Whether the chunks hold all numbers from ``start`` on."""
    for chunk in chunks:
        if chunk.numbers is not None or chunk.first != start:
            return False
        start = chunk.last + 1
    return True


def _all_numbers(chunks: Iterable[_chunks.Chunk]) -> I64:
    return np.concatenate([chunk.all_numbers() for chunk in chunks])

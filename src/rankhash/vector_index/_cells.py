"""Codes grouped in cells: an arena of blocks, in which each cell has a run of its own with room to grow.

::

    blocks (n_blocks, n_bytes, 32)   | cell 0 ▓▓▓░ | cell 1 ▓▓░ | … | cell 0 moved here when it was full ▓▓▓▓░░ | free
    rows   (n_blocks, 32)            the row of each place

A cell that is full moves to the end of the arena with half as much room again; the arena is rewritten when a quarter of
it is holes. Codes are only added: removed rows stay until the index is compacted.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .. import _kernels
from .._types import F32, I32, I64, U8, U32, Array
from ._centroids import kmeans, nearest_centroids
from ._coder import Coder, cell_sizes

BLOCK = _kernels.CELL_BLOCK


class Cells:
    """The codes of rows, by cell."""

    _view: _kernels.CellsView | None = None

    def __init__(self, coder: Coder) -> None:
        self.coder = coder
        n = coder.n_cells
        self.first_block: I64 = np.zeros(n, np.int64)
        self.capacity: I64 = np.zeros(n, np.int64)
        self.sizes: I32 = np.zeros(n, np.int32)
        self.blocks: U8 = np.zeros((0, coder.n_bytes, BLOCK), np.uint8)
        self.rows: U32 = np.zeros((0, BLOCK), np.uint32)
        self.n_blocks = 0
        self._read_coder()

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @property
    def nbytes(self) -> int:
        """Bytes of memory that codes, rows and cells take."""
        learned: list[Array] = [*self._panels, self.coder.centroids, self.first_block, self.sizes, self._scales]
        learned += [] if self._offsets is None else [self._offsets]
        return self.blocks.nbytes + self.rows.nbytes + sum(array.nbytes for array in learned)

    def view(self) -> _kernels.CellsView:
        """What a search reads; kept as long as the arrays are the same, since making it takes longer than a search."""
        kept = self._view
        arrays = (self.blocks, self.rows, self.sizes, self.first_block)
        if kept is None or any(
            a is not b for a, b in zip(arrays, (kept.blocks, kept.rows, kept.sizes, kept.first_block), strict=True)
        ):
            kept = self._view = self._new_view()
        return kept

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_view"}

    def copied(self) -> Cells:
        """The codes as they are now, which later changes leave alone: these write to free places of the arena only."""
        other = copy.copy(self)
        for name in ("first_block", "capacity", "sizes"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def _new_view(self) -> _kernels.CellsView:
        centroids, squares, axes, first_axis, decoder = self._panels
        return _kernels.CellsView(
            self.coder.product,
            centroids.shape[1],
            centroids,
            squares,
            axes,
            first_axis,
            decoder,
            self.coder.centroids,
            self._scales,
            self.coder.radii,
            self._offsets,
            self.coder.lows,
            self.coder.steps,
            self.first_block,
            self.sizes,
            self.blocks,
            self.rows,
        )

    def add(self, vectors: F32, rows: I64, n_threads: int) -> None:
        """Put the codes of vectors, which have the given rows, into their cells."""
        cells = self.coder.cells_of(vectors, n_threads)
        self.place(cells, self.coder.encode(vectors, cells, n_threads), rows)

    def place(self, cells: I32, codes: U8, rows: I64) -> None:
        """Put codes of the given rows into the given cells."""
        self._own()
        order = np.argsort(cells, kind="stable")
        cells, codes, rows = cells[order], codes[order], rows[order]
        counts = np.bincount(cells, minlength=self.coder.n_cells)
        self._make_room(counts)
        within = np.arange(len(cells)) - np.repeat(np.cumsum(counts) - counts, counts)
        places = self.sizes[cells] + within
        blocks, lanes = self.first_block[cells] + places // BLOCK, places % BLOCK
        self.blocks[blocks, :, lanes] = codes
        self.rows[blocks, lanes] = rows
        self.sizes += counts.astype(np.int32)

    def rows_in(self, cell: int) -> I64:
        """The rows of a cell."""
        return self.rows[self.first_block[cell] :].ravel()[: self.sizes[cell]].astype(np.int64)

    def _read_coder(self) -> None:
        self._panels, self._scales, self._offsets = self.coder.panels(), self.coder.scales, self.coder.offsets()
        self._view = None

    def _own(self) -> None:
        """Copy arrays that belong to a mapped file, before they are changed."""
        for name in ("blocks", "rows", "first_block", "capacity", "sizes"):
            if not getattr(self, name).flags.writeable:
                setattr(self, name, getattr(self, name).copy())

    def _make_room(self, counts: I64) -> None:
        needed = -(-(self.sizes + counts) // BLOCK)
        full = np.flatnonzero(needed > self.capacity)
        if not len(full):
            return
        room = np.where(needed > self.capacity, needed + needed // 2, self.capacity)
        if len(full) > self.coder.n_cells // 4 or self.n_blocks + room[full].sum() > 1.25 * room.sum() + 64:
            first_load = not self.n_blocks
            self._rewrite(needed + needed // 8 if first_load else np.maximum(room, self.capacity))
            return
        starts = self.n_blocks + np.cumsum(room[full]) - room[full]
        self._reserve(self.n_blocks + int(room[full].sum()))
        for cell, start in zip(full, starts, strict=True):
            used = slice(self.first_block[cell], self.first_block[cell] + self.capacity[cell])
            self.blocks[start : start + self.capacity[cell]] = self.blocks[used]
            self.rows[start : start + self.capacity[cell]] = self.rows[used]
        self.first_block[full], self.capacity[full] = starts, room[full]
        self.n_blocks += int(room[full].sum())

    def tighten(self) -> None:
        """Give back the room that cells have to grow: after all vectors were encoded, few follow."""
        self._rewrite(-(-self.sizes.astype(np.int64) // BLOCK))

    def _rewrite(self, room: I64) -> None:
        """A new arena without holes, in which each cell has that many blocks."""
        starts = np.cumsum(room) - room
        used = -(-self.sizes // BLOCK)
        old = np.repeat(self.first_block - (np.cumsum(used) - used), used) + np.arange(used.sum())
        new = np.repeat(starts - (np.cumsum(used) - used), used) + np.arange(used.sum())
        total = int(room.sum())
        blocks, rows = np.zeros((total, *self.blocks.shape[1:]), np.uint8), np.zeros((total, BLOCK), np.uint32)
        blocks[new], rows[new] = self.blocks[old], self.rows[old]
        self.blocks, self.rows, self.n_blocks = blocks, rows, total
        self.first_block, self.capacity = starts.astype(np.int64), room.astype(np.int64)

    def _reserve(self, n_blocks: int) -> None:
        if n_blocks > len(self.blocks):
            capacity = n_blocks + n_blocks // 8
            blocks, rows = (
                np.zeros((capacity, *self.blocks.shape[1:]), np.uint8),
                np.zeros((capacity, BLOCK), np.uint32),
            )
            blocks[: self.n_blocks], rows[: self.n_blocks] = self.blocks[: self.n_blocks], self.rows[: self.n_blocks]
            self.blocks, self.rows = blocks, rows

    def all_rows(self) -> I64:
        """The rows of all codes, by cell."""
        _, blocks, lanes = self._places()
        return self.rows[blocks, lanes].astype(np.int64)

    def in_order(self) -> tuple[I32, U8, I64]:
        """Cells, codes and rows of all codes, by row."""
        cells, blocks, lanes = self._places()
        rows = self.rows[blocks, lanes].astype(np.int64)
        order = np.argsort(rows, kind="stable")
        codes = self.blocks[blocks, :, lanes][order]
        return cells[order].astype(np.int32), codes, rows[order]

    def keep(self, kept: I64, n_rows: int) -> None:
        """Drop all codes but those of the rows ``kept`` (ascending), which get the numbers 0, 1, … in that order."""
        numbers = np.full(n_rows, -1, np.int64)
        numbers[kept] = np.arange(len(kept))
        cells, blocks, lanes = self._places()
        new = numbers[self.rows[blocks, lanes]]
        alive = new >= 0
        cells, blocks, lanes, new = cells[alive], blocks[alive], lanes[alive], new[alive]
        codes = self.blocks[blocks, :, lanes]
        self._replace(cells, codes, new)

    def split(self, cell: int, vectors: F32, rows: I64, random_state: int, n_threads: int) -> None:
        """Replace a cell by several of mean size.

        ``vectors`` are those of its ``rows``; they go to the nearest of all cells.
        """
        mean = max(1, len(self) // self.coder.n_cells)
        parts = min(max(2, len(vectors) // mean), 64)
        rng = np.random.default_rng(random_state)
        points = self.coder.points(vectors)
        centroids = kmeans(points, parts, rng, n_threads, lambda: None)
        cells = nearest_centroids(points, centroids, n_threads)
        own = cell_sizes(points - centroids[cells], cells, parts)
        self.coder = self.coder.with_parts(cell, centroids, *own)
        self._read_coder()
        self.sizes[cell] = self.capacity[cell] = 0  # its blocks become a hole
        for name in ("first_block", "capacity", "sizes"):
            known = getattr(self, name)
            setattr(self, name, np.concatenate([known, np.zeros(parts - 1, known.dtype)]))
        self.add(vectors, rows, n_threads)

    def _places(self) -> tuple[I64, I64, I64]:
        """Cell, block and lane of every code."""
        sizes = self.sizes.astype(np.int64)
        cells = np.repeat(np.arange(len(sizes)), sizes)
        within = np.arange(len(cells)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return cells, self.first_block[cells] + within // BLOCK, within % BLOCK

    def _replace(self, cells: I64, codes: U8, rows: I64) -> None:
        """A new arena of these codes, which come in the order of their cells."""
        counts = np.bincount(cells, minlength=self.coder.n_cells)
        room = -(-counts // BLOCK)
        room += room // 8
        self.sizes = counts.astype(np.int32)
        self.first_block, self.capacity = (np.cumsum(room) - room).astype(np.int64), room.astype(np.int64)
        self.n_blocks = int(room.sum())
        self.blocks = np.zeros((self.n_blocks, self.coder.n_bytes, BLOCK), np.uint8)
        self.rows = np.zeros((self.n_blocks, BLOCK), np.uint32)
        _, blocks, lanes = self._places()
        self.blocks[blocks, :, lanes] = codes
        self.rows[blocks, lanes] = rows

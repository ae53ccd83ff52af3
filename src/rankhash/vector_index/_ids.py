"""Ids of rows: which row has an id, and which rows are alive."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import I64, U8, Flags
from ..errors import InvalidInputError

LARGEST_ID = np.iinfo(np.int64).max - 1
_FEW = 4096


class RowIds:
    """The ids ``(n_rows,)`` of rows, unique among the living; a removed row keeps its place until rows are rewritten.

    Ids are found by binary search in the sorted ids of the first rows, and in a dict of the newest ones. Ascending ids,
    as an index gives them itself, are sorted already and take no further memory. A change replaces arrays and numbers,
    and puts entries into that dict: a shallow copy becomes what it was by ``sort``.
    """

    def __init__(self, ids: I64 | None = None, next_id: int = 0) -> None:
        self.ids: I64 = np.empty(0, np.int64) if ids is None else ids
        self.next_id = max(next_id, int(self.ids.max(initial=-1)) + 1)
        self.live: Flags = np.ones(len(self.ids), bool)
        self.n_dead = 0
        self._order: I64 | None = None  # rows in the order of their ids; None if they are in it
        self._bits: tuple[tuple[int, int], U8] | None = None  # of the living, and of how many rows
        self.sort()

    def __len__(self) -> int:
        return len(self.ids) - self.n_dead

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        order = 0 if self._order is None else self._sorted.nbytes + self._order.nbytes
        return self.ids.nbytes + self.live.nbytes + order

    def rows_of(self, ids: I64) -> I64:
        """The living row of each id, or -1."""
        rows = np.full(len(ids), -1, np.int64)
        if len(self._sorted):
            at = np.minimum(np.searchsorted(self._sorted, ids), len(self._sorted) - 1)
            rows = np.where(self._sorted[at] == ids, at if self._order is None else self._order[at], -1)
        if self._newest:
            pairs = zip(ids.tolist(), rows.tolist(), strict=True)
            rows = np.array([self._newest.get(number, row) for number, row in pairs], np.int64)
        return np.where((rows >= 0) & self.live[rows], rows, -1) if len(self.live) else rows

    def append(self, ids: I64) -> None:
        """Rows behind the last one, with ids that no living row has."""
        first = len(self.ids)
        self.next_id = max(self.next_id, int(ids.max(initial=-1)) + 1)
        self.ids, self.live = np.concatenate([self.ids, ids]), np.concatenate([self.live, np.ones(len(ids), bool)])
        if len(self._newest) + len(ids) > max(_FEW, len(self._sorted) // 8):
            self.sort()
        else:
            self._newest.update(zip(ids.tolist(), range(first, first + len(ids)), strict=True))

    def remove(self, rows: I64) -> None:
        """Mark living rows as removed."""
        live = self.live.copy()
        live[rows] = False
        self.live, self.n_dead = live, self.n_dead + len(rows)

    def sort(self) -> None:
        """Sort the ids of all rows, so that none is left to the dict."""
        self._newest: dict[int, int] = {}
        self._sorted, self._order = self.ids, None
        if self.n_dead or bool((self.ids[1:] <= self.ids[:-1]).any()):
            self._order = self.living()
            self._sorted = self.ids[self._order]

    def living(self) -> I64:
        """The living rows in the order of their ids."""
        rows = np.flatnonzero(self.live)
        return rows[np.argsort(self.ids[rows], kind="stable")]

    def passing(self, chosen: Any) -> U8 | None:
        """One bit per row, 1 = may be found, of a filter: ids, or a mask over the living ids in ascending order."""
        if chosen is None:
            return self._living_bits()
        chosen = np.asarray(chosen)
        if chosen.ndim != 1:
            raise InvalidInputError(f"filter must be one-dimensional, got the shape {chosen.shape}")
        flags = np.zeros(len(self.ids), bool)
        if chosen.dtype == bool:
            if len(chosen) != len(self):
                raise InvalidInputError(f"a boolean filter over {len(self)} vectors got {len(chosen)} entries")
            flags[self.living()[chosen]] = True
        elif chosen.dtype.kind in "iu" or not chosen.size:
            rows = self.rows_of(chosen.astype(np.int64))
            flags[rows[rows >= 0]] = True
        else:
            raise InvalidInputError(f"filter must be ids or a boolean mask, got {chosen.dtype}")
        return np.packbits(flags, bitorder="little")

    def _living_bits(self) -> U8 | None:
        if not self.n_dead:
            return None
        state, kept = (len(self.live), self.n_dead), self._bits
        if kept is None or kept[0] != state:
            kept = self._bits = state, np.packbits(self.live, bitorder="little")
        return kept[1]

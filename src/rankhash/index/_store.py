"""The codes of an index, their ids, and which of them are live.

::

    position   0 ……… n_ordered ……… size ……… capacity
               ids ascend │ any order │ spare

Without explicit ids, the position of a code is its id. A removed code keeps its position and is marked as dead in
``live`` (one bit per position; 1 = live). The store is rewritten in the order of the ids when a quarter of it is dead,
or when too many ids are out of order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from .._types import I64, U8, Flags
from ..codes import CodeLayout
from ..errors import FileFormatError
from ._file_checks import check_contents
from ._positions import find_sorted, set_bits

_BATCH = 1 << 16
_SPARE = 1 << 16  # spare capacity after the first codes, so that a small addition copies nothing
_FEW = 4096  # number of dead or unordered codes that never causes a rewrite


class CodeStore:
    """Bit slices of codes with ids; ids are unique, dead codes included."""

    _view: _kernels.CodesView | None
    _undo: list[Callable[[], None]] | None = None
    """Steps that undo the change in progress; None between changes."""

    def __init__(self, layout: CodeLayout) -> None:
        self.layout = layout
        self.blocks: U8 = _kernels.allocate_blocks(0, layout.bits)
        self.size = 0
        self.ids: I64 | None = None
        self.n_ordered = 0
        self.live: U8 | None = None
        self.n_dead = 0
        self.next_id = 0
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickle and copy, without cached views."""
        return self.__dict__ | {"_view": None}

    def __len__(self) -> int:
        return self.size - self.n_dead

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(array.nbytes for array in (self.blocks, self.ids, self.live) if array is not None)

    # -- reading ---------------------------------------------------------------------------------------------------

    def view(self, live: U8 | None) -> _kernels.CodesView:
        """The codes as a search reads them, with the mask ``live``; cached for the store's own mask until a change."""
        if live is self.live and self._view is not None:
            return self._view
        ids = None if self.ids is None else self.ids[: self.size]
        layout = self.layout
        view = _kernels.CodesView(self.blocks, self.size, layout.n_symbols, layout.arity, live, ids, self.n_ordered)
        if live is self.live:
            self._view = view
        return view

    def positions_by_id(self) -> I64:
        """The positions of the live codes in the order of their ids."""
        positions = np.arange(self.size, dtype=np.int64)
        if self.ids is not None and self.n_ordered < self.size:
            positions = np.argsort(self.ids[: self.size], kind="stable")
        return positions if self.live is None else positions[self._alive(positions)]

    def ids_at(self, positions: I64) -> I64:
        """The ids at the given positions."""
        return positions.copy() if self.ids is None else self.ids[positions]

    def find(self, ids: I64) -> I64:
        """The positions of ids, dead codes included; -1 for unknown ids."""
        if self.ids is None:
            return np.where((ids >= 0) & (ids < self.size), ids, -1)
        positions = find_sorted(self.ids[: self.n_ordered], ids)
        if self.n_ordered < self.size:
            tail = self.ids[self.n_ordered : self.size]
            order = np.argsort(tail)
            found = find_sorted(tail[order], ids)
            positions = np.where(found >= 0, self.n_ordered + order[found], positions)
        return positions

    def find_living(self, ids: I64) -> I64:
        """The positions of ids of live codes; -1 for all other ids."""
        positions = self.find(ids)
        return np.where((positions >= 0) & self._alive(positions), positions, -1)

    def codes_at(self, positions: I64) -> U8:
        """The packed codes at the given positions."""
        return _kernels.read_slices(self.blocks, positions, self.layout.n_bytes)

    def _alive(self, positions: I64) -> Flags:
        if self.live is None:
            return np.ones(len(positions), dtype=bool)
        bits: U8 = self.live[positions >> 3] >> (positions & 7).astype(np.uint8)
        return (bits & 1).astype(bool)

    # -- writing: inside of `changing`; every change of an array or a number calls _forget ---------------------------

    @contextlib.contextmanager
    def changing(self) -> Iterator[list[Callable[[], None]]]:
        """A transaction in memory: if the block raises, for example after Ctrl-C, the store is restored.

        First the attributes are set back. Then the functions that the block has put on the yielded list are called in
        reverse order; they undo changes inside of arrays.
        """
        if self._undo is not None:  # part of a larger change
            yield self._undo
            return
        before = dict(self.__dict__)
        undo: list[Callable[[], None]] = []
        self._undo = undo
        try:
            yield undo
        except BaseException:
            self.__dict__ = before
            for step in reversed(undo):
                step()
            self._forget()
            raise
        self._undo = None

    def _forget(self) -> None:
        """Drop cached views of the arrays."""
        self._view = None

    def add(self, codes: U8, ids: I64) -> None:
        """Add codes under ids that are unique and not live in this store."""
        if len(ids) == 0:
            return
        with self.changing():
            self._own()
            if self.n_dead and ids.min() < self.next_id:
                codes, ids = self._revive(codes, ids)
            if len(ids):
                self._append(codes, ids)
            self._forget()
            self._tidy()

    def _revive(self, codes: U8, ids: I64) -> tuple[U8, I64]:
        """Write codes whose ids are dead in this store to their old positions; return the other codes and ids."""
        positions = self.find(ids)
        dead = positions >= 0
        self.write(positions[dead], codes[dead])
        self._set_live(positions[dead], True)
        return codes[~dead], ids[~dead]

    def write(self, positions: I64, codes: U8) -> None:
        """Replace the codes at the given positions."""
        with self.changing() as undo:
            self._own()
            self._forget()
            undo.append(partial(_kernels.write_slices_at, self.blocks, positions, self.codes_at(positions)))
            _kernels.write_slices_at(self.blocks, positions, codes)

    def remove(self, positions: I64) -> None:
        """Mark the codes at the given positions as dead."""
        with self.changing():
            self._own()
            if self.live is None:
                self.live = np.full(len(self.blocks) * _kernels.SLICE, 0xFF, np.uint8)
            self._set_live(positions, False)
            self._forget()
            self._tidy()

    def compact(self) -> None:
        """Rewrite the live codes in the order of their ids, without spare capacity."""
        order = self.positions_by_id()
        blocks = _kernels.allocate_blocks(len(order), self.layout.bits)
        for start in range(0, len(order), _BATCH):
            _kernels.write_slices(blocks, start, self.codes_at(order[start : start + _BATCH]))
        if self.ids is not None or self.n_dead:
            self.ids = self.ids_at(order)
        self.blocks, self.size, self.n_ordered = blocks, len(order), len(order)
        self.live, self.n_dead = None, 0
        self._forget()

    def _append(self, codes: U8, ids: I64) -> None:
        if (ids[1:] < ids[:-1]).any():
            order = np.argsort(ids)
            codes, ids = codes[order], ids[order]
        start, stop = self.size, self.size + len(ids)
        implicit = self.ids is None and ids[0] == start and ids[-1] == stop - 1
        in_order = self.n_ordered == start and (start == 0 or ids[0] > self.ids_at(np.array([start - 1]))[0])
        self._reserve(stop)
        if not implicit:
            self._explicit_ids()[start:stop] = ids
        _kernels.write_slices(self.blocks, start, codes)
        self.size = stop
        self.n_ordered = stop if in_order else self.n_ordered
        self.next_id = max(self.next_id, int(ids[-1]) + 1)

    def _explicit_ids(self) -> I64:
        capacity = len(self.blocks) * _kernels.BLOCK
        if self.ids is None:
            self.ids = np.arange(capacity, dtype=np.int64)
        elif len(self.ids) < capacity:
            self.ids = np.concatenate([self.ids, np.zeros(capacity - len(self.ids), np.int64)])
        return self.ids

    def reserve(self, size: int) -> None:
        """Make room for ``size`` codes, dead ones included."""
        with self.changing():
            self._own()
            self._grow(size)
            self._forget()

    def _reserve(self, size: int) -> None:
        if size > len(self.blocks) * _kernels.BLOCK:
            self._grow(size + (size // 16 if self.size else min(size // 16, _SPARE)))

    def _grow(self, size: int) -> None:
        old = self.blocks
        if size <= len(old) * _kernels.BLOCK:
            return
        self.blocks = _kernels.allocate_blocks(size, self.layout.bits)
        n_used = -(-self.size // _kernels.BLOCK)
        self.blocks[:n_used] = old[:n_used]
        if self.live is not None:
            more = (len(self.blocks) - len(old)) * _kernels.SLICE
            self.live = np.concatenate([self.live, np.full(more, 0xFF, np.uint8)])

    def _set_live(self, positions: I64, alive: bool) -> None:
        assert self.live is not None
        assert self._undo is not None
        self._undo.append(partial(set_bits, self.live, positions, not alive))
        set_bits(self.live, positions, alive)
        self.n_dead += -len(positions) if alive else len(positions)

    def _tidy(self) -> None:
        unordered = self.size - self.n_ordered
        if self.n_dead > max(_FEW, self.size // 4) or unordered > max(_FEW, self.size // 16):
            self.compact()

    def _own(self) -> None:
        """Copy memory-mapped arrays, so that they can be written to."""
        for name in ("blocks", "ids", "live"):
            array = getattr(self, name)
            if array is not None and not array.flags.writeable:
                setattr(self, name, np.array(array))

    # -- files -----------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The header and the arrays from which `restore` rebuilds this store."""
        n_blocks = -(-self.size // _kernels.BLOCK)
        arrays: dict[str, NDArray[Any]] = {"blocks": self.blocks[:n_blocks]}
        if self.ids is not None:
            arrays["ids"] = self.ids[: self.size]
        if self.live is not None:
            arrays["live"] = self.live[: n_blocks * _kernels.SLICE]
        layout = self.layout
        header = {
            "layout": {
                "n_symbols": layout.n_symbols,
                "arity": layout.arity,
                "fingerprint": layout.fingerprint,
            },
            "size": self.size,
            "n_ordered": self.n_ordered,
            "next_id": self.next_id,
        }
        return header, arrays

    @classmethod
    def restore(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> CodeStore:
        """The store in the contents of a file, after checking that they are consistent."""
        try:
            store = cls(CodeLayout(**header["layout"]))
            store.size, store.n_ordered, store.next_id = (
                int(header[name]) for name in ("size", "n_ordered", "next_id")
            )
            store.blocks, store.ids, store.live = arrays["blocks"], arrays.get("ids"), arrays.get("live")
            numbers = (store.size, store.n_ordered, store.next_id)
            store.n_dead = check_contents(store.layout, numbers, store.blocks, store.ids, store.live)
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"this index file is inconsistent: {error}") from error
        return store

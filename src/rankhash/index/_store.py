"""The codes of an index, their ids, and which of them are alive.

::

    position   0 ……… n_ordered ……… size ……… capacity
               ids ascend │ any order │ room to grow

Without explicit ids a position is its id. Removed codes keep their place, marked in ``live``, until a quarter of
the store is dead; then, and when too many ids came out of order, the store is written anew in the order of the ids.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..codes import CodeLayout
from ..errors import FileFormatError, IdError, InvalidInputError

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
Flags = NDArray[np.bool_]

_BATCH = 1 << 16
_SPARE = 1 << 16  # room for codes behind the first ones, so that adding a few copies nothing
_FEW = 4096  # dead or unordered codes that are always tolerated


class CodeStore:
    """Bit slices of codes with ids; ids are unique, also among the dead."""

    _view: _kernels.CodesView | None

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
        """For pickle and copy: everything but what was made for searches."""
        return self.__dict__ | {"_view": None}

    def __len__(self) -> int:
        return self.size - self.n_dead

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        return sum(array.nbytes for array in (self.blocks, self.ids, self.live) if array is not None)

    # -- reading ---------------------------------------------------------------------------------------------------

    def view(self, live: U8 | None) -> _kernels.CodesView:
        """What a search reads, with ``live`` in place of the store's own, for which it is kept until a change."""
        if live is self.live and self._view is not None:
            return self._view
        ids = None if self.ids is None else self.ids[: self.size]
        layout = self.layout
        view = _kernels.CodesView(self.blocks, self.size, layout.n_symbols, layout.arity, live, ids, self.n_ordered)
        if live is self.live:
            self._view = view
        return view

    def positions_by_id(self) -> I64:
        """The positions of the living codes in the order of their ids."""
        positions = np.arange(self.size, dtype=np.int64)
        if self.ids is not None and self.n_ordered < self.size:
            positions = np.argsort(self.ids[: self.size], kind="stable")
        return positions if self.live is None else positions[self._alive(positions)]

    def ids_at(self, positions: I64) -> I64:
        """The ids at the given positions."""
        return positions.copy() if self.ids is None else self.ids[positions]

    def find(self, ids: I64) -> I64:
        """The positions of ids, also of dead ones; -1 for ids that are not there."""
        if self.ids is None:
            return np.where((ids >= 0) & (ids < self.size), ids, -1)
        positions = _find_sorted(self.ids[: self.n_ordered], ids)
        if self.n_ordered < self.size:
            tail = self.ids[self.n_ordered : self.size]
            order = np.argsort(tail)
            found = _find_sorted(tail[order], ids)
            positions = np.where(found >= 0, self.n_ordered + order[found], positions)
        return positions

    def find_living(self, ids: I64) -> I64:
        """The positions of living ids; -1 for others."""
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

    # -- writing: whatever changes an array or a number calls _forget ----------------------------------------------

    def _forget(self) -> None:
        """Drop what was made of the arrays for searches."""
        self._view = None

    def add(self, codes: U8, ids: I64) -> None:
        """Add codes under ids that are unique and not alive here."""
        if len(ids) == 0:
            return
        self._own()
        if self.n_dead and ids.min() < self.next_id:
            codes, ids = self._revive(codes, ids)
        if len(ids):
            self._append(codes, ids)
        self._forget()
        self._tidy()

    def _revive(self, codes: U8, ids: I64) -> tuple[U8, I64]:
        """Put codes whose ids are here, but dead, in their old places; the others are returned."""
        positions = self.find(ids)
        dead = positions >= 0
        self.write(positions[dead], codes[dead])
        self._set_live(positions[dead], True)
        return codes[~dead], ids[~dead]

    def write(self, positions: I64, codes: U8) -> None:
        """Replace the codes at the given positions."""
        self._own()
        self._forget()
        _kernels.write_slices_at(self.blocks, positions, codes)

    def remove(self, positions: I64) -> None:
        """Mark the codes at the given positions as dead."""
        self._own()
        if self.live is None:
            self.live = np.full(len(self.blocks) * _kernels.SLICE, 0xFF, np.uint8)
        self._set_live(positions, False)
        self._forget()
        self._tidy()

    def compact(self) -> None:
        """Write the living codes anew, in the order of their ids, without spare room."""
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

    def _reserve(self, size: int) -> None:
        old = self.blocks
        if size <= len(old) * _kernels.BLOCK:
            return
        growth = size // 16 if self.size else min(size // 16, _SPARE)
        self.blocks = _kernels.allocate_blocks(size + growth, self.layout.bits)
        n_used = -(-self.size // _kernels.BLOCK)
        self.blocks[:n_used] = old[:n_used]
        if self.live is not None:
            more = (len(self.blocks) - len(old)) * _kernels.SLICE
            self.live = np.concatenate([self.live, np.full(more, 0xFF, np.uint8)])

    def _set_live(self, positions: I64, alive: bool) -> None:
        assert self.live is not None
        bits = np.left_shift(1, positions & 7).astype(np.uint8)
        if alive:
            np.bitwise_or.at(self.live, positions >> 3, bits)
        else:
            np.bitwise_and.at(self.live, positions >> 3, ~bits)
        self.n_dead += -len(positions) if alive else len(positions)

    def _tidy(self) -> None:
        unordered = self.size - self.n_ordered
        if self.n_dead > max(_FEW, self.size // 4) or unordered > max(_FEW, self.size // 16):
            self.compact()

    def _own(self) -> None:
        """Copy arrays that are mapped from a file before they are written to."""
        for name in ("blocks", "ids", "live"):
            array = getattr(self, name)
            if array is not None and not array.flags.writeable:
                setattr(self, name, np.array(array))

    # -- filters ---------------------------------------------------------------------------------------------------

    def mask(self, chosen: Any) -> U8 | None:
        """The bits of the positions that a search may find: see :meth:`rankhash.FlatIndex.search`."""
        if chosen is None:
            return self.live
        chosen = np.asarray(chosen)
        if chosen.ndim != 1:
            raise InvalidInputError(f"filter must be one-dimensional, got the shape {chosen.shape}")
        if chosen.dtype == bool or chosen.dtype == np.uint8:
            return self._mask_of_flags(chosen)
        if chosen.dtype.kind not in "iu" and chosen.size:
            raise InvalidInputError(f"filter must be ids, a boolean mask or a uint8 bitmap, got {chosen.dtype}")
        positions = self.find_living(chosen.astype(np.int64))
        return self._mask_of_positions(positions[positions >= 0])

    def _mask_of_positions(self, positions: I64) -> U8:
        flags = np.zeros(len(self.blocks) * _kernels.BLOCK, dtype=bool)
        flags[positions] = True
        return np.packbits(flags, bitorder="little")

    def _mask_of_flags(self, chosen: NDArray[Any]) -> U8:
        n = len(self)
        expected = n if chosen.dtype == bool else -(-n // 8)
        if len(chosen) != expected:
            what = "a boolean mask" if chosen.dtype == bool else "a uint8 bitmap"
            raise InvalidInputError(f"{what} over {n} codes must have {expected} entries, got {len(chosen)}")
        if self.live is not None or self.n_ordered < self.size:
            flags = chosen if chosen.dtype == bool else np.unpackbits(chosen, count=n, bitorder="little").view(bool)
            if self.n_ordered < self.size:
                return self._mask_of_positions(self.positions_by_id()[flags])
            return self._mask_of_living(flags)
        bits = np.zeros(len(self.blocks) * _kernels.SLICE, np.uint8)
        bits[: -(-n // 8)] = np.packbits(chosen, bitorder="little") if chosen.dtype == bool else chosen
        return bits

    def _mask_of_living(self, chosen: Flags) -> U8:
        """The bits of a flag for each living code, where ids ascend with the positions."""
        assert self.live is not None
        alive = np.unpackbits(self.live, count=self.size, bitorder="little").view(bool)
        flags = np.zeros(len(self.blocks) * _kernels.BLOCK, dtype=bool)
        flags[: self.size][alive] = chosen
        return np.packbits(flags, bitorder="little")

    # -- files -----------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Numbers and arrays from which :meth:`restore` makes this store again."""
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
        """The store of a file's contents, after making sure that they fit together."""
        try:
            store = cls(CodeLayout(**header["layout"]))
            store.size, store.n_ordered, store.next_id = (
                int(header[name]) for name in ("size", "n_ordered", "next_id")
            )
            store.blocks, store.ids, store.live = arrays["blocks"], arrays.get("ids"), arrays.get("live")
            store._check_restored()
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"this index file contradicts itself: {error}") from error
        return store

    def _check_restored(self) -> None:
        n_blocks = -(-self.size // _kernels.BLOCK)
        expected = {
            "blocks": (np.uint8, (n_blocks, self.layout.bits, _kernels.SLICE)),
            "ids": (np.int64, (self.size,)),
            "live": (np.uint8, (n_blocks * _kernels.SLICE,)),
        }
        for name, (dtype, shape) in expected.items():
            array = getattr(self, name)
            if array is not None and (array.dtype != dtype or array.shape != shape):
                raise FileFormatError(f"{name} is {array.dtype} {array.shape}, not {np.dtype(dtype)} {shape}")
        if not 0 <= self.n_ordered <= self.size or (self.ids is None and self.n_ordered != self.size):
            raise FileFormatError(f"{self.n_ordered} of {self.size} codes are in order")
        self._check_restored_ids()
        if self.live is not None:
            flags = np.unpackbits(np.asarray(self.live), count=self.size, bitorder="little")
            self.n_dead = self.size - int(flags.sum())

    def _check_restored_ids(self) -> None:
        largest = self.size - 1
        if self.ids is not None and self.size:
            ordered = self.ids[: self.n_ordered]
            if self.ids.min() < 0 or (ordered[1:] <= ordered[:-1]).any():
                raise IdError("ids are negative or out of order")
            if self.n_ordered < self.size and len(np.unique(self.ids)) < self.size:
                raise IdError("ids are repeated")
            largest = int(self.ids.max())
        if self.next_id <= largest:
            raise IdError(f"the next id is {self.next_id}, but {largest} is taken")


def _find_sorted(ids: I64, wanted: I64) -> I64:
    """The places of ``wanted`` in ascending ``ids``, -1 where they are not."""
    if len(ids) == 0:
        return np.full(len(wanted), -1, np.int64)
    places = np.searchsorted(ids, wanted)
    places[places == len(ids)] = 0
    return np.where(ids[places] == wanted, places, -1)

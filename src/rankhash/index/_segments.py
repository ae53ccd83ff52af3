"""A store of codes with hash tables over them.

::

    position   0 ……………………………… n_sealed ……… size
               segments, largest first │ scanned
               └ changed: positions whose code is no longer that of the tables; scanned, too

New codes wait at the end until there are :data:`TAIL` of them; then they become a segment, together with those before
it that are not much larger. Tables are made in calls that change the index, never in a search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..codes import CodeLayout
from ..errors import FileFormatError
from ..neighbors import Neighbors, RadiusNeighbors
from ._cost import RADIUS_SHARE, SAMPLE, CostModel, scan_cost
from ._store import CodeStore

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
Span = tuple[int, int]
Lone = _kernels.Lone[Neighbors, RadiusNeighbors]

TAIL = 1 << 14
_GROWTH = 4  # a new segment takes in the one before it if that is at most so many times larger
_MEAN_BUCKET = 8
_KEY_BYTES = 4.125  # its offset and its bit
_MOST_KEYS = 1 << 31
MOST_TABLES = 16


def key_spans(layout: CodeLayout, n: int, n_tables: int | str) -> list[Span]:
    """Disjoint runs of symbols (first, count) whose values are the keys of ``n`` codes' tables.

    There are so many keys that all of it takes (1 + n_tables) · (bits / 8 + 4) bytes a code: 4 bytes for the keys of
    all tables, less what packed rows lose to whole bytes. With ``"auto"`` there are as many tables as runs of symbols
    with n / 8 values fit into a code, 16 at most: 8 codes of 64 bits fill a line of the cache.
    """
    if n_tables == "auto":
        run = max(1.0, math.log(max(n / _MEAN_BUCKET, 2)) / math.log(layout.arity))
        n_tables = min(MOST_TABLES, math.ceil(layout.n_symbols / run))
    n_tables = max(1, min(int(n_tables), layout.n_symbols))
    bytes_for_keys = max(1.0, 4 - n_tables * (layout.n_bytes - layout.bits / 8))
    most_keys = min(_MOST_KEYS, bytes_for_keys / _KEY_BYTES * n / n_tables)
    longest = max(1, math.floor(math.log(max(most_keys, layout.arity)) / math.log(layout.arity) + 1e-9))
    cuts = [layout.n_symbols * t // n_tables for t in range(n_tables + 1)]
    return [(first, min(stop - first, longest)) for first, stop in pairwise(cuts)]


@dataclass(frozen=True)
class Plan:
    """Tables to be made. Nobody needs to wait meanwhile: the codes that they are of may only be added to, see
    :meth:`TableStore.install`.
    """

    layout: CodeLayout
    view: _kernels.CodesView
    kept: list[_kernels.Segment]
    """The segments before the new one."""
    start: int
    size: int
    spans: list[Span]
    sample: U8
    """Codes to measure the costs of look-up with; none if those are known."""
    edition: int

    def make(
        self, n_threads: int, stopped: Callable[[], bool] = lambda: False
    ) -> tuple[_kernels.Segment, CostModel | None] | None:
        """The new segment, and what look-up costs with it; None if ``stopped``, which is asked between tables."""
        segment = _kernels.build_segment(self.view, self.start, self.size, self.spans, n_threads, stopped)
        if segment is None or stopped():
            return None
        if not len(self.sample):
            return segment, None
        layout, blocks = self.layout, _kernels.allocate_blocks(0, self.layout.bits)
        nothing = _kernels.CodesView(blocks, 0, layout.n_symbols, layout.arity, None, None, 0)
        tables = _kernels.TablesView(self.view, [*self.kept, segment], self.start + self.size, None, nothing)
        return segment, CostModel.measure(layout, tables, self.sample, n_threads)


class TableStore(CodeStore):
    """Codes with ids, most of them also in hash tables."""

    tail = TAIL
    _tables_view: _kernels.TablesView | None
    lone: Lone | None
    """The short way for lone queries; made by the first search after a change."""

    def __init__(self, layout: CodeLayout, n_tables: int | str = "auto") -> None:
        super().__init__(layout)
        self.n_tables = n_tables
        self.edition = 0  # goes up when codes that are there change or move
        self.segments: list[_kernels.Segment] = []
        self.cost_model = CostModel()
        self._set_changed(np.empty(0, np.int64))

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: without tables, which are made anew from the codes."""
        return super().__getstate__() | {"_tables_view": None, "lone": None, "segments": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self.cost_model = CostModel()
        self._set_changed(np.empty(0, np.int64))
        self._seal()

    @property
    def n_sealed(self) -> int:
        """How many codes, from position 0 on, are in tables."""
        return self.segments[-1].start + self.segments[-1].size if self.segments else 0

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""
        stale = 0 if self.stale is None else self.stale.nbytes
        return super().nbytes + stale + self.changed.nbytes + sum(segment.nbytes for segment in self.segments)

    def tables_view(self, live: U8 | None) -> _kernels.TablesView:
        """What look-up reads, with ``live`` in place of the store's own, for which it is kept until a change."""
        if live is self.live and self._tables_view is not None:
            return self._tables_view
        view = _kernels.TablesView(self.view(live), self.segments, self.n_sealed, self.stale, self._changed_view(live))
        if live is self.live:
            self._tables_view = view
            self.lone = self._make_lone(view) if self.segments else None
        return view

    def tries(self) -> list[tuple[int, float, float]]:
        """Nanoseconds that look-up of up to k neighbours may try, for a few queries and for many."""
        return [(k * len(self) // self.size, *tries) for k, tries in self.cost_model.tries.items()]

    def radius_try(self, n_queries: int) -> float:
        """Nanoseconds that look-up within a radius may try."""
        return RADIUS_SHARE * scan_cost(self.layout, self.size, n_queries) if self.segments else 0.0

    def _make_lone(self, view: _kernels.TablesView) -> Lone:
        budgets = [(k, few) for k, few, _ in self.tries()]
        return _kernels.Lone(view, budgets, self.radius_try(1), (Neighbors, RadiusNeighbors))

    # -- writing ---------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        super()._forget()
        self._tables_view = None
        self.lone = None

    def add(self, codes: U8, ids: I64) -> None:
        """Add codes under ids that are unique and not alive here."""
        super().add(codes, ids)
        self._seal()

    def write(self, positions: I64, codes: U8) -> None:
        """Replace the codes at the given positions."""
        super().write(positions, codes)
        self.edition += 1
        inside = positions[positions < self.n_sealed]
        if len(inside):
            self._set_changed(np.union1d(self.changed, inside))
            if len(self.changed) > self.tail + self.n_sealed // 256:
                self._renew_segments()

    def compact(self) -> None:
        """Write the living codes anew, in the order of their ids, and make their tables."""
        self.edition += 1
        self.segments = []
        self.cost_model = CostModel()
        self._set_changed(np.empty(0, np.int64))
        super().compact()
        self._seal()

    def _seal(self) -> None:
        """Make tables of the codes at the end, if there are enough of them."""
        plan = self.plan()
        if plan is not None:
            made = plan.make(_kernels.default_threads())
            assert made is not None
            self.install(plan, *made)

    def plan(self) -> Plan | None:
        """Which tables are to be made of the codes at the end, or None if they are too few."""
        start, stop = self.n_sealed, self.size // _kernels.BLOCK * _kernels.BLOCK
        if self.size - start < self.tail or stop == start:
            return None
        kept = list(self.segments)
        while kept and kept[-1].size <= _GROWTH * (stop - start):
            start = kept.pop().start
        spans = key_spans(self.layout, stop - start, self.n_tables)
        sample = np.empty(0, np.int64)
        if self.cost_model.is_stale(stop):
            sample = np.random.default_rng(0).integers(0, stop, SAMPLE)
        codes = self.codes_at(sample)
        return Plan(self.layout, self.view(None), kept, start, stop - start, spans, codes, self.edition)

    def install(self, plan: Plan, segment: _kernels.Segment, model: CostModel | None) -> bool:
        """Search through what a plan made from now on; False if its codes have changed since."""
        if plan.edition != self.edition:
            return False
        self.segments = [*plan.kept, segment]
        self.cost_model = model or self.cost_model
        self._set_changed(self.changed[self.changed < plan.start])
        return True

    def _renew_segments(self) -> None:
        """Make the tables anew that hold changed codes."""
        bounds = np.array([segment.start for segment in self.segments] + [self.n_sealed])
        counts = np.diff(np.searchsorted(self.changed, bounds))
        self.segments = [
            self._build(segment.start, segment.size) if n else segment
            for n, segment in zip(counts, self.segments, strict=True)
        ]
        self._set_changed(np.empty(0, np.int64))

    def _build(self, start: int, size: int) -> _kernels.Segment:
        spans = key_spans(self.layout, size, self.n_tables)
        segment = _kernels.build_segment(self.view(None), start, size, spans, _kernels.default_threads())
        assert segment is not None
        return segment

    def _set_changed(self, positions: I64) -> None:
        self.changed = positions
        self._forget()
        self._changed_blocks: U8 | None = None
        self.stale: U8 | None = None
        if len(positions):
            flags = np.zeros(self.n_sealed, dtype=bool)
            flags[positions] = True
            self.stale = np.packbits(flags, bitorder="little")

    def _changed_view(self, live: U8 | None) -> _kernels.CodesView:
        layout, n = self.layout, len(self.changed)
        blocks = self._changed_blocks
        if blocks is None:
            blocks = _kernels.allocate_blocks(n, layout.bits)
            _kernels.write_slices(blocks, 0, self.codes_at(self.changed))
            self._changed_blocks = blocks
        alive = None
        if n and live is not None:
            alive = np.zeros(len(blocks) * _kernels.SLICE, np.uint8)
            bits = np.packbits(live[self.changed >> 3] >> (self.changed & 7).astype(np.uint8) & 1, bitorder="little")
            alive[: len(bits)] = bits
        ids = self.ids_at(self.changed)
        return _kernels.CodesView(blocks, n, layout.n_symbols, layout.arity, alive, ids, 0)

    # -- files -----------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Numbers and arrays from which :meth:`restore` makes this store again."""
        header, arrays = super().state()
        header["n_tables"] = self.n_tables
        header["costs"] = self.cost_model.state()
        header["segments"] = [{"start": s.start, "size": s.size, "spans": s.spans} for s in self.segments]
        arrays["changed"] = self.changed
        for i, segment in enumerate(self.segments):
            for t, table in enumerate(segment.arrays):
                arrays |= {f"segment{i}.table{t}.{name}": array for name, array in table._asdict().items()}
        return header, arrays

    @classmethod
    def restore(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> TableStore:
        """The store of a file's contents, after making sure that they fit together."""
        store = super().restore(header, arrays)
        assert isinstance(store, TableStore)
        try:
            store.n_tables = check_n_tables(header["n_tables"])
            for i, entry in enumerate(header["segments"]):
                store.segments.append(store._restore_segment(f"segment{i}", entry, arrays))
            store.cost_model = CostModel.restore(header["costs"])
            changed = arrays["changed"]
            _expect(changed.dtype == np.int64 and changed.ndim == 1, "changed positions are no list")
            inside = len(changed) == 0 or (changed[0] >= 0 and changed[-1] < store.n_sealed)
            _expect(bool(inside and (changed[1:] > changed[:-1]).all()), "changed positions are out of order")
            store._set_changed(np.array(changed))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"this index file contradicts itself: {error}") from error
        return store

    def _restore_segment(self, name: str, entry: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> _kernels.Segment:
        start, size = int(entry["start"]), int(entry["size"])
        spans = [(int(first), int(count)) for first, count in entry["spans"]]
        whole = size > 0 and size % _kernels.BLOCK == 0 and start == self.n_sealed and start + size <= self.size
        _expect(whole, f"{name} does not follow the one before it")
        stop = 0
        for first, count in spans:
            _expect(first >= stop and count >= 1, f"the keys of {name} overlap")
            stop = first + count
        _expect(0 < stop <= self.layout.n_symbols, f"the keys of {name} are longer than codes")
        tables = [self._restore_table(f"{name}.table{t}", size, count, arrays) for t, (_, count) in enumerate(spans)]
        return _kernels.Segment((self.layout.n_symbols, self.layout.arity), start, size, spans, tables)

    def _restore_table(self, name: str, size: int, count: int, arrays: dict[str, NDArray[Any]]) -> _kernels.KeyArrays:
        n_keys = self.layout.arity**count
        table = _kernels.KeyArrays(*(arrays[f"{name}.{field}"] for field in _kernels.KeyArrays._fields))
        n_bytes = size * self.layout.n_bytes + _kernels.ROW_PADDING
        lengths: dict[str, tuple[Any, int]] = {
            "offsets": (np.uint32, n_keys + 1),
            "places": (np.uint32, size),
            "rows": (np.uint8, n_bytes),
        }
        for field, (dtype, length) in lengths.items():
            array = arrays[f"{name}.{field}"]
            _expect(array.dtype == dtype and array.shape == (length,), f"{name}.{field} has another size")
        rising = table.offsets[0] == 0 and table.offsets[-1] == size and (table.offsets[1:] >= table.offsets[:-1]).all()
        _expect(bool(rising), f"{name} points outside of itself")
        return table


def check_n_tables(n_tables: Any) -> int | str:
    """``n_tables`` if it is ``"auto"`` or a positive integer."""
    if n_tables == "auto":
        return "auto"
    if isinstance(n_tables, bool) or not isinstance(n_tables, (int, np.integer)) or n_tables < 1:
        raise ValueError(f'n_tables must be "auto" or a positive integer, got {n_tables!r}')
    return int(n_tables)


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise FileFormatError(message)

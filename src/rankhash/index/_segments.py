"""A store of codes with hash tables over them.

::

    position   0 ……………………………… n_sealed ……… size
               segments, largest first │ scanned
               └ changed: positions whose code differs from that in the tables; also scanned

New codes stay in the tail until there are `TAIL` of them. Then they become a segment, merged with preceding segments
that are not much larger. Tables are built in calls that change the index, never in a search.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from .._types import I64, U8
from ..codes import CodeLayout
from ..errors import FileFormatError
from ..neighbors import Neighbors, RadiusNeighbors
from ._cost import RADIUS_SHARE, SAMPLE, Calibration, CostModel
from ._file_checks import check_array, expect
from ._plan import Plan, key_spans
from ._store import CodeStore

SingleQuery = _kernels.SingleQuery[Neighbors, RadiusNeighbors]

TAIL = 1 << 14
_GROWTH = 4  # a new segment absorbs the preceding one if that is at most this many times larger


class TableStore(CodeStore):
    """Codes with ids, most of them also in hash tables."""

    tail = TAIL
    _tables_view: _kernels.TablesView | None
    _tries: list[tuple[int, float, float]] | None
    single_query: SingleQuery | None
    """The fast path of single queries; prepared by the first search after a change."""

    def __init__(self, layout: CodeLayout, n_tables: int | str = "auto") -> None:
        super().__init__(layout)
        self.n_tables = n_tables
        self.edition = 0  # increases when existing codes change or move
        self.segments: list[_kernels.Segment] = []
        self.cost_model = CostModel()
        self._set_changed(np.empty(0, np.int64))

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickle and copy, without tables, which are rebuilt from the codes."""
        return super().__getstate__() | {"_tables_view": None, "_tries": None, "single_query": None, "segments": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self.cost_model = CostModel()
        self._set_changed(np.empty(0, np.int64))
        self._seal()

    @property
    def n_sealed(self) -> int:
        """The number of codes, from position 0 on, that are in hash tables."""
        return self.segments[-1].start + self.segments[-1].size if self.segments else 0

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        stale = 0 if self.stale is None else self.stale.nbytes
        return super().nbytes + stale + self.changed.nbytes + sum(segment.nbytes for segment in self.segments)

    def tables_view(self, live: U8 | None) -> _kernels.TablesView:
        """The tables as look-up reads them, with the mask ``live``; cached for the store's own mask until a change."""
        if live is self.live and self._tables_view is not None:
            return self._tables_view
        view = _kernels.TablesView(self.view(live), self.segments, self.n_sealed, self.stale, self._changed_view(live))
        if live is self.live:
            self._tables_view = view
        return view

    def prepare_single_query(self) -> None:
        """Prepare the fast path of single queries, if there are tables."""
        if self.segments and self.single_query is None:
            budgets = [(k, few) for k, few, _ in self.tries()]
            kinds = (Neighbors, RadiusNeighbors)
            self.single_query = _kernels.SingleQuery(self.tables_view(self.live), budgets, self.radius_try(1), kinds)

    def calibration(self) -> Calibration:
        """The costs of scan and look-up for codes of this layout on this machine."""
        return Calibration.of(self.view(None), self.tables_view(self.live))

    def tries(self) -> list[tuple[int, float, float]]:
        """Cost limits of look-up: (largest k, limit for a few queries, limit for a batch)."""
        if self._tries is None:
            tries = self._costs().tries(self.calibration(), self.size) if self.segments else {}
            self._tries = [(k * len(self) // self.size, *costs) for k, costs in tries.items()]
        return self._tries

    def _costs(self) -> CostModel:
        """The cost model; measured now if the index was loaded from a file without one."""
        if not self.cost_model.costs:
            codes = self.codes_at(np.random.default_rng(0).integers(0, self.n_sealed, SAMPLE))
            tables = self.tables_view(self.live)
            self.cost_model = CostModel.measure(self.layout, tables, codes, _kernels.default_threads())
        return self.cost_model

    def radius_try(self, n_queries: int) -> float:
        """The cost limit of look-up within a radius."""
        return RADIUS_SHARE * self.calibration().scan_cost(self.size, n_queries) if self.segments else 0.0

    # -- writing ---------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        super()._forget()
        self._tables_view = None
        self._tries = None
        self.single_query = None

    def add(self, codes: U8, ids: I64) -> None:
        """Add codes under ids that are unique and not live in this store."""
        with self.changing():
            super().add(codes, ids)
            self._seal()

    def write(self, positions: I64, codes: U8) -> None:
        """Replace the codes at the given positions."""
        with self.changing():
            super().write(positions, codes)
            self.edition += 1
            inside = positions[positions < self.n_sealed]
            if len(inside):
                self._set_changed(np.union1d(self.changed, inside))
                if len(self.changed) > self.tail + self.n_sealed // 256:
                    self._renew_segments()

    def compact(self) -> None:
        """Rewrite the live codes in the order of their ids, and build their tables."""
        with self.changing():
            self.edition += 1
            self.segments = []
            self.cost_model = CostModel()
            self._set_changed(np.empty(0, np.int64))
            super().compact()
            self._seal()

    def _seal(self) -> None:
        """Build tables over the tail, if it is long enough."""
        plan = self.plan()
        if plan is not None:
            made = plan.make(_kernels.default_threads())
            assert made is not None
            self.install(plan, *made)

    def plan(self) -> Plan | None:
        """The plan of the tables to build over the tail; None if the tail is too short."""
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
        """Use a segment built by a plan from now on; False if the planned codes have changed since."""
        if plan.edition != self.edition:
            return False
        self.segments = [*plan.kept, segment]
        self.cost_model = model or self.cost_model
        self._set_changed(self.changed[self.changed < plan.start])
        return True

    def _renew_segments(self) -> None:
        """Rebuild the tables that hold changed codes."""
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
        """The header and the arrays from which `restore` rebuilds this store."""
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
        """The store in the contents of a file, after checking that they are consistent."""
        store = super().restore(header, arrays)
        assert isinstance(store, TableStore)
        try:
            store.n_tables = check_n_tables(header["n_tables"])
            for i, entry in enumerate(header["segments"]):
                store.segments.append(store._restore_segment(f"segment{i}", entry, arrays))
            store.cost_model = CostModel.restore(header["costs"])
            changed = arrays["changed"]
            expect(changed.dtype == np.int64 and changed.ndim == 1, "changed positions are no list")
            inside = len(changed) == 0 or (changed[0] >= 0 and changed[-1] < store.n_sealed)
            expect(bool(inside and (changed[1:] > changed[:-1]).all()), "changed positions are out of order")
            store._set_changed(np.array(changed))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileFormatError(f"this index file is inconsistent: {error}") from error
        return store

    def _restore_segment(self, name: str, entry: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> _kernels.Segment:
        start, size = int(entry["start"]), int(entry["size"])
        spans = [(int(first), int(count)) for first, count in entry["spans"]]
        whole = size > 0 and size % _kernels.BLOCK == 0 and start == self.n_sealed and start + size <= self.size
        expect(whole, f"{name} does not follow the one before it")
        stop = 0
        for first, count in spans:
            expect(first >= stop and count >= 1, f"the keys of {name} overlap")
            stop = first + count
        expect(0 < stop <= self.layout.n_symbols, f"the keys of {name} are longer than codes")
        tables = [self._restore_table(f"{name}.table{t}", size, count, arrays) for t, (_, count) in enumerate(spans)]
        return _kernels.Segment((self.layout.n_symbols, self.layout.arity), start, size, spans, tables)

    def _restore_table(self, name: str, size: int, count: int, arrays: dict[str, NDArray[Any]]) -> _kernels.KeyArrays:
        table = _kernels.KeyArrays(*(arrays[f"{name}.{field}"] for field in _kernels.KeyArrays._fields))
        check_array(f"{name}.offsets", table.offsets, np.uint32, (self.layout.arity**count + 1,))
        check_array(f"{name}.places", table.places, np.uint32, (size,))
        check_array(f"{name}.rows", table.rows, np.uint8, (size * self.layout.n_bytes + _kernels.ROW_PADDING,))
        rising = table.offsets[0] == 0 and table.offsets[-1] == size and (table.offsets[1:] >= table.offsets[:-1]).all()
        expect(bool(rising), f"{name} points outside of itself")
        return table


def check_n_tables(n_tables: Any) -> int | str:
    """``n_tables`` if it is ``"auto"`` or a positive integer."""
    if n_tables == "auto":
        return "auto"
    if isinstance(n_tables, bool) or not isinstance(n_tables, (int, np.integer)) or n_tables < 1:
        raise ValueError(f'n_tables must be "auto" or a positive integer, got {n_tables!r}')
    return int(n_tables)

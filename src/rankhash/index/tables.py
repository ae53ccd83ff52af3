"""Look-up in hash tables: exact search that reads a small part of the codes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _kernels
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..neighbors import Neighbors, RadiusNeighbors
from . import _cost
from ._base import Index
from ._segments import TableStore, check_n_tables

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]


class LookupStatistics(NamedTuple):
    """What look-up did for each query; all arrays are (n_queries,)."""

    probes: I64
    """Keys that were looked at, empty buckets included."""
    buckets: I64
    """Buckets among them that held codes."""
    candidates: I64
    """Codes that were compared with the query."""
    duplicates: I64
    """Near codes that another table had given before."""
    hits: I64
    """Results."""
    radius: I64
    """Every code that differs in at most so many symbols has been seen."""
    scanned: NDArray[np.bool_]
    """Whether look-up was given up and all codes were scanned."""
    nanoseconds: I64
    """How long look-up took, without a scan that followed."""


@dataclass(frozen=True)
class Explanation:
    """How a query is answered, and why: see :meth:`TableIndex.explain`."""

    method: str
    """``"lookup"`` or ``"scan"``."""
    reason: str
    statistics: LookupStatistics
    estimated_lookup: float
    """Nanoseconds that look-up took, or had taken when it was given up, by the cost model."""
    estimated_scan: float
    """Nanoseconds that a scan takes, by the cost model."""
    allowed: float
    """Nanoseconds that look-up was allowed."""

    def __str__(self) -> str:
        return f"{self.method}: {self.reason}"


class TableIndex(Index):
    """An index that looks codes up in hash tables and answers exactly as :class:`FlatIndex` does.

    A table has a bucket for every value of a run of symbols. Codes that differ from a query in few symbols agree with
    it, or nearly so, in one of the runs: buckets are looked at in the order of their distance until no code outside of
    them can be near enough. Where that would cost more than comparing all codes, all codes are compared.

    It holds about ``(1 + n_tables) · (bits / 8 + 4)`` bytes a code, and 8 bytes more for ids that are given explicitly.
    Searches may run in many threads at once; a change must not run beside anything else.

    Parameters
    ----------
    layout
        The shape of the codes: the hasher's ``layout_``.
    n_tables
        How many tables; ``"auto"`` chooses by the number of codes and their length. 1 is the plain look-up of all
        buckets within a radius: see :meth:`statistics`.

    Examples
    --------
    >>> import numpy as np
    >>> from rankhash import CodeLayout, TableIndex
    >>> layout = CodeLayout(n_symbols=4, arity=3)
    >>> index = TableIndex(layout)
    >>> index.add(layout.pack([[0, 1, 2, 0], [0, 1, 2, 1], [2, 2, 2, 2]]))
    array([0, 1, 2])
    >>> index.search(layout.pack([[0, 1, 2, 1]]), k=2)
    Neighbors(ids=array([[1, 0]]), distances=array([[0., 1.]], dtype=float32))
    """

    kind: ClassVar[str] = "tables"
    _store_class: ClassVar[type[TableStore]] = TableStore
    _store: TableStore

    def __init__(self, layout: CodeLayout, *, n_tables: int | str = "auto") -> None:
        super().__init__(layout)
        try:
            self._store.n_tables = check_n_tables(n_tables)
        except ValueError as error:
            raise InvalidInputError(str(error)) from None

    @property
    def n_tables(self) -> int:
        """How many hash tables the largest part of the index has; 0 while it is too small for tables."""
        return len(self._store.segments[0].spans) if self._store.segments else 0

    # -- search ----------------------------------------------------------------------------------------------------

    def search(
        self,
        codes: ArrayLike,
        k: int,
        *,
        weights: ArrayLike | None = None,
        filter: ArrayLike | None = None,
        n_threads: int | None = None,
    ) -> Neighbors:
        """The k nearest codes of each query code; parameters and answers are those of :meth:`FlatIndex.search`."""
        lone = self._store.lone
        if lone is not None and weights is None and filter is None:
            found = lone.search(codes, k, n_threads)
            if found:
                return found
            if found is False:
                threads = _kernels.resolve_threads(n_threads)
                return Neighbors(*_kernels.search(self._view(None), np.asarray(codes), k, threads))
        checked = self.layout.check(codes)
        k = self._check_k(k, len(checked))
        return self._search(checked, k, weights, filter, n_threads, None)

    def search_radius(
        self,
        codes: ArrayLike,
        radius: float,
        *,
        weights: ArrayLike | None = None,
        filter: ArrayLike | None = None,
        n_threads: int | None = None,
    ) -> RadiusNeighbors:
        """All codes within ``radius`` of each query code; parameters as in :meth:`FlatIndex.search_radius`."""
        lone = self._store.lone
        if lone is not None and weights is None and filter is None:
            found = lone.search_radius(codes, radius, n_threads)
            if found:
                return found
            if found is False:
                threads, whole = _kernels.resolve_threads(n_threads), min(int(radius), self.layout.n_symbols)
                return RadiusNeighbors(*_kernels.search_radius(self._view(None), np.asarray(codes), whole, threads))
        checked = self.layout.check(codes)
        return self._search_radius(checked, radius, weights, filter, n_threads, None)

    def statistics(
        self,
        codes: ArrayLike,
        *,
        k: int | None = None,
        radius: float | None = None,
        weights: ArrayLike | None = None,
        filter: ArrayLike | None = None,
    ) -> LookupStatistics:
        """What :meth:`search` with ``k``, or :meth:`search_radius` with ``radius``, does for each query code."""
        if (k is None) == (radius is None):
            raise InvalidInputError(f"give either k or radius, got k={k!r} and radius={radius!r}")
        checked = self.layout.check(codes)
        return _statistics(self._count(checked, k, radius, weights, filter))

    def explain(self, codes: ArrayLike, k: int, *, weights: ArrayLike | None = None) -> Explanation:
        """How the one query of ``codes`` (1, n_bytes) is answered when it comes alone, and why."""
        checked = self.layout.check(codes)
        if len(checked) != 1:
            raise InvalidInputError(f"one query can be explained at a time, got {len(checked)}")
        numbers = self._count(checked, k, None, weights, None)
        store = self._store
        scan = _cost.scan_cost(self.layout, store.size, 1)
        allowed = self._budget(k, 1, None)
        found = _statistics(numbers)
        cost, scanned = float(numbers[0, _COST]), bool(found.scanned[0])
        if not store.segments:
            reason = f"the index has no tables yet; it makes them from {store.tail} codes on"
        elif allowed == 0:
            reason = f"codes like those of the index cost less in a scan ({scan / 1e3:.1f} µs) than in tables"
        elif scanned:
            reason = (
                f"look-up was given up at {cost / 1e3:.1f} µs of {allowed / 1e3:.1f} µs; a scan takes {scan / 1e3:.1f}"
            )
        else:
            reason = (
                f"{found.probes[0]} keys in {self.n_tables} tables gave {found.candidates[0]} codes to compare; every "
                f"code within {found.radius[0]} symbols is among them. That takes {cost / 1e3:.1f} µs, a scan "
                f"{scan / 1e3:.1f} µs"
            )
        return Explanation("scan" if scanned else "lookup", reason, found, cost, scan, allowed)

    # -- changes ---------------------------------------------------------------------------------------------------

    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> I64:
        """Add codes ``(n, n_bytes)`` and return their ids: see :meth:`FlatIndex.add`.

        New codes are scanned until there are some thousands of them, then they get tables of their own, and those are
        joined with others now and then. All of that is done in this call, so that no search waits for it.
        """
        return super().add(codes, ids)

    # -- files -----------------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path, *, mmap: bool = False, verify: bool = True) -> TableIndex:
        """The index that :meth:`save` wrote, its tables included: see :meth:`FlatIndex.load`."""
        index = super().load(path, mmap=mmap, verify=verify)
        assert isinstance(index, TableIndex)
        return index

    # -- inside ----------------------------------------------------------------------------------------------------

    def _search(
        self,
        codes: U8,
        k: int,
        weights: ArrayLike | None,
        filter: ArrayLike | None,
        n_threads: int | None,
        stats: F64 | None,
    ) -> Neighbors:
        threads = _kernels.resolve_threads(n_threads)
        prepared = self._prepare_weights(codes, weights)
        live = self._store.mask(filter)
        budget = self._budget(k, len(codes), None if filter is None else live)
        if budget > 0:
            view = self._store.tables_view(live)
            return Neighbors(*_kernels.lookup(view, codes, k, prepared, budget, threads, stats))
        if stats is not None:
            stats[:] = _SCANNED
        flat = self._store.view(live)
        if prepared is not None:
            return Neighbors(*_kernels.search_tables(flat, prepared.tables, k, threads))
        return Neighbors(*_kernels.search(flat, codes, k, threads))

    def _search_radius(
        self,
        codes: U8,
        radius: float,
        weights: ArrayLike | None,
        filter: ArrayLike | None,
        n_threads: int | None,
        stats: F64 | None,
    ) -> RadiusNeighbors:
        radius = self._check_radius(radius)
        threads = _kernels.resolve_threads(n_threads)
        prepared = self._prepare_weights(codes, weights)
        limit = radius if prepared is not None else min(math.floor(radius), self.layout.n_symbols)
        view = self._store.tables_view(self._store.mask(filter))
        budget = self._store.radius_try(len(codes))
        return RadiusNeighbors(*_kernels.lookup_radius(view, codes, limit, prepared, budget, threads, stats))

    def _count(
        self,
        codes: U8,
        k: int | None,
        radius: float | None,
        weights: ArrayLike | None,
        filter: ArrayLike | None,
    ) -> F64:
        numbers = np.zeros((len(codes), len(_kernels.LOOKUP_STATS)))
        if k is not None:
            found = self._search(codes, self._check_k(k, len(codes)), weights, filter, 1, numbers)
            numbers[:, _kernels.LOOKUP_STATS.index("hits")] = (found.ids >= 0).sum(axis=1)
        else:
            assert radius is not None
            self._search_radius(codes, radius, weights, filter, 1, numbers)
        return numbers

    def _prepare_weights(self, codes: U8, weights: ArrayLike | None) -> _kernels.Weights | None:
        if weights is None:
            return None
        tables = self._weight_tables(codes, weights)
        return _kernels.Weights(np.ascontiguousarray(weights, dtype=np.float32), tables)

    def _budget(self, k: int, n_queries: int, chosen: U8 | None) -> float:
        """Nanoseconds that look-up may try; a filter that keeps one in ten codes makes k ten times as far."""
        reach = k if chosen is None else k * len(self) / max(int(_BITS[chosen].sum()), 1)
        for most, few, many in self._store.tries():
            if reach <= most:
                return many if n_queries >= _cost.MANY else few
        return 0.0


_COST = _kernels.LOOKUP_STATS.index("cost")
_SCANNED = np.array([{"radius": -1.0, "scanned": 1.0}.get(name, 0.0) for name in _kernels.LOOKUP_STATS])
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.int64)


def _statistics(numbers: F64) -> LookupStatistics:
    columns = dict(zip(_kernels.LOOKUP_STATS, numbers.T.astype(np.int64), strict=True))
    scanned = columns.pop("scanned").astype(bool)
    del columns["cost"]
    return LookupStatistics(**columns, scanned=scanned)

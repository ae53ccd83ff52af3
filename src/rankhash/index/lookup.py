"""Look-up in hash tables: exact search that reads a small part of the codes (multi-index hashing)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import _kernels
from .._checks import check_radius
from .._types import F64, I64, U8
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..neighbors import Neighbors, RadiusNeighbors
from . import _cost
from ._arguments import check_k, weight_tables
from ._base import Index
from ._masks import mask
from ._segments import SingleQuery, TableStore, check_n_tables
from ._statistics import Explanation, LookupStatistics, statistics_of


class LookupIndex(Index):
    """An index that looks codes up in hash tables and answers exactly as [`FlatIndex`][rankhash.FlatIndex] does.

    The symbols of a code are divided into runs, with one hash table per run and one bucket per value of the run. A code
    that differs from a query in few symbols equals it in at least one run, or nearly so. Buckets are therefore visited
    in the order of their distance, until no code in another bucket can be near enough. If that would cost more than
    comparing all codes, all codes are compared.

    A code takes about ``(1 + n_tables) · (bits / 8 + 4)`` bytes, and 8 bytes more if ids are given explicitly. Any
    number of threads may search at the same time; a change must not run concurrently with any other call.

    Parameters
    ----------
    layout
        The layout of the codes: the hasher's ``layout_``.
    n_tables
        Number of hash tables. ``"auto"`` (default) chooses it from the number of codes and their length. With 1 table
        over all symbols, look-up visits all buckets within a radius.

    Examples
    --------
    >>> from rankhash import CodeLayout, LookupIndex
    >>> layout = CodeLayout(n_symbols=16, arity=4)
    >>> codes = layout.pack(np.random.default_rng(0).integers(0, 4, (20_000, 16)))
    >>> index = LookupIndex(layout)
    >>> ids = index.add(codes)
    >>> index.n_tables, index.search(codes[7:8], k=1).ids
    (3, array([[7]]))
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
        """The number of hash tables of the largest segment; 0 while the index is too small for tables."""
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
        """The k nearest codes of each query.

        Parameters, defaults and answers are those of [`FlatIndex.search`][rankhash.FlatIndex.search].
        """
        single = self._single_query(weights, filter)
        if single is not None:
            found = single.search(codes, k, n_threads)
            if found:
                return found
            if found is False:
                threads = _kernels.resolve_threads(n_threads)
                return Neighbors(*_kernels.search(self._view(None), np.asarray(codes), k, threads))
        checked = self.layout.check(codes)
        k = check_k(k, len(checked))
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
        """All codes within a distance of each query.

        Parameters, defaults and answers are those of [`FlatIndex.search_radius`][rankhash.FlatIndex.search_radius].
        """
        single = self._single_query(weights, filter)
        if single is not None:
            found = single.search_radius(codes, radius, n_threads)
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
        """The work of a search per query: keys probed, codes compared, and whether all codes were scanned.

        Parameters
        ----------
        codes
            The codes of the queries, ``(n_queries, n_bytes)``.
        k
            Number of neighbours, for the work of ``search``; default None.
        radius
            Largest distance, for the work of ``search_radius``; default None. Exactly one of ``k`` and ``radius`` is
            given.
        weights, filter
            As in [`FlatIndex.search`][rankhash.FlatIndex.search]; both None by default.
        """
        if (k is None) == (radius is None):
            raise InvalidInputError(f"give either k or radius, got k={k!r} and radius={radius!r}")
        checked = self.layout.check(codes)
        return statistics_of(self._count(checked, k, radius, weights, filter))

    def explain(self, codes: ArrayLike, k: int, *, weights: ArrayLike | None = None) -> Explanation:
        """Whether a single query uses look-up or a scan, and why.

        Parameters
        ----------
        codes
            The code of one query, ``(1, n_bytes)``.
        k
            Number of neighbours.
        weights
            As in [`FlatIndex.search`][rankhash.FlatIndex.search]; None by default.
        """
        checked = self.layout.check(codes)
        if len(checked) != 1:
            raise InvalidInputError(f"explain takes one query at a time, got {len(checked)}")
        numbers = self._count(checked, k, None, weights, None)
        store = self._store
        calibration = store.calibration()
        scan, allowed = calibration.scan_one * store.size, calibration.unit * self._budget(k, 1, None)
        found = statistics_of(numbers)
        cost, scanned = calibration.unit * float(numbers[0, _COST]), bool(found.scanned[0])
        if not store.segments:
            reason = f"the index has no hash tables yet; it builds them from {store.tail} codes on"
        elif allowed == 0:
            reason = f"for codes like these a scan ({scan / 1e3:.1f} µs) costs less than look-up"
        elif scanned:
            reason = (
                f"look-up stopped at {cost / 1e3:.1f} µs, its limit being {allowed / 1e3:.1f} µs; a scan takes "
                f"{scan / 1e3:.1f} µs"
            )
        else:
            reason = (
                f"{found.probes[0]} keys in {self.n_tables} hash tables gave {found.candidates[0]} codes to compare; "
                f"every code within {found.radius[0]} symbols is among them. That takes {cost / 1e3:.1f} µs, a scan "
                f"{scan / 1e3:.1f} µs"
            )
        return Explanation("scan" if scanned else "lookup", reason, found, cost, scan, allowed)

    # -- changes ---------------------------------------------------------------------------------------------------

    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> I64:
        """The ids of codes that were added; parameters are those of [`FlatIndex.add`][rankhash.FlatIndex.add].

        New codes are scanned until there are some thousands of them. Then they get hash tables of their own, which are
        merged with those of earlier codes from time to time. All of that happens in this call, never in a search.
        """
        return super().add(codes, ids)

    # -- files -----------------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path, *, mmap: bool = False, verify: bool = True) -> LookupIndex:
        """The index in a file, with its hash tables; parameters as in [`FlatIndex.load`][rankhash.FlatIndex.load]."""
        index = super().load(path, mmap=mmap, verify=verify)
        assert isinstance(index, LookupIndex)
        return index

    # -- inside ----------------------------------------------------------------------------------------------------

    def _single_query(self, weights: ArrayLike | None, filter: ArrayLike | None) -> SingleQuery | None:
        """The fast path of a single query, if the arguments allow it and an earlier search has prepared it."""
        return self._store.single_query if weights is None and filter is None else None

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
        live = mask(self._store, filter)
        budget = self._budget(k, len(codes), None if filter is None else live)
        if budget > 0:
            view = self._store.tables_view(live)
            self._store.prepare_single_query()
            return Neighbors(*_kernels.lookup(view, codes, k, prepared, budget, threads, stats))
        if stats is not None:
            stats[:] = _SCANNED
        flat = self._store.view(live)
        if prepared is not None:
            return Neighbors(*_kernels.search_scores(flat, prepared.tables, k, threads))
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
        radius = check_radius(radius)
        threads = _kernels.resolve_threads(n_threads)
        prepared = self._prepare_weights(codes, weights)
        limit = radius if prepared is not None else min(math.floor(radius), self.layout.n_symbols)
        view = self._store.tables_view(mask(self._store, filter))
        self._store.prepare_single_query()
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
            found = self._search(codes, check_k(k, len(codes)), weights, filter, 1, numbers)
            numbers[:, _kernels.LOOKUP_STATS.index("hits")] = (found.ids >= 0).sum(axis=1)
        else:
            assert radius is not None
            self._search_radius(codes, radius, weights, filter, 1, numbers)
        return numbers

    def _prepare_weights(self, codes: U8, weights: ArrayLike | None) -> _kernels.Weights | None:
        if weights is None:
            return None
        tables = weight_tables(self.layout, codes, weights)
        return _kernels.Weights(np.ascontiguousarray(weights, dtype=np.float32), tables)

    def _budget(self, k: int, n_queries: int, chosen: U8 | None) -> float:
        """The cost limit of look-up, in units. A filter that keeps a share s of the codes makes k count as k / s."""
        reach = k if chosen is None else k * len(self) / max(int(_BITS[chosen].sum()), 1)
        for most, few, many in self._store.tries():
            if reach <= most:
                return many if n_queries >= _cost.MANY else few
        return 0.0


_COST = _kernels.LOOKUP_STATS.index("cost")
_SCANNED = np.array([{"radius": -1.0, "scanned": 1.0}.get(name, 0.0) for name in _kernels.LOOKUP_STATS])
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.int64)

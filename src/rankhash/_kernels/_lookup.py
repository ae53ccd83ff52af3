"""Search through hash tables over runs of symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from .. import _native
from .._types import F32, F64, I64, U8, U32
from ._codes import packed_bytes
from ._scan import CodesView, empty_results

Nearest = TypeVar("Nearest", bound=tuple[Any, ...])
Within = TypeVar("Within", bound=tuple[Any, ...])

ROW_PADDING = 8
"""Bytes after the last row of a hash table."""

LOOKUP_STATS = ("probes", "buckets", "candidates", "duplicates", "hits", "radius", "scanned", "cost", "nanoseconds")
"""Counters of look-up per query."""


class Weights(NamedTuple):
    """Weights of differing symbols ``(n_symbols,)``, and the same as score tables ``(n_queries, n_symbols, arity)``."""

    values: F32
    tables: F32


class Segment:
    """Immutable hash tables over the codes at the positions ``start`` … ``start + size - 1``.

    ``spans`` are the runs of symbols (first, count) whose values are the keys. Each has ``offsets`` (n_keys + 1,) of
    the buckets, ``places`` (size,), which are positions minus ``start``, and ``rows``: the packed codes in the same
    order, followed by `ROW_PADDING` bytes.
    """

    def __init__(
        self, layout: tuple[int, int], start: int, size: int, spans: list[tuple[int, int]], arrays: list[KeyArrays]
    ) -> None:
        self.start, self.size, self.spans, self.arrays = start, size, spans, arrays
        self._occupied = [np.empty(-(-(len(table.offsets) - 1) // 64), np.uint64) for table in arrays]
        for table, bits in zip(arrays, self._occupied, strict=True):
            _native.mark_occupied(table.offsets, bits)
        offsets, places, rows = map(list, zip(*arrays, strict=True))
        self.native = _native.Segment(*layout, start, size, spans, offsets, self._occupied, places, rows)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return sum(a.nbytes for table in self.arrays for a in table) + sum(bits.nbytes for bits in self._occupied)


class KeyArrays(NamedTuple):
    """The arrays of one hash table of a `Segment`."""

    offsets: U32
    places: U32
    rows: U8


def build_segment(
    view: CodesView,
    start: int,
    size: int,
    spans: list[tuple[int, int]],
    n_threads: int,
    stopped: Callable[[], bool] = lambda: False,
) -> Segment | None:
    """Hash tables over ``size`` codes from ``start`` on, a multiple of BLOCK; a span has at most 2^31 keys.

    ``stopped`` is called before each table; if it returns True, the result is None.
    """
    arrays = []
    for span in spans:
        if stopped():
            return None
        table = _empty_table(view, size, span)
        _native.build_tables(view.native, start, size, [span], [table.offsets], [table.places], [table.rows], n_threads)
        arrays.append(table)
    return Segment((view.n_symbols, view.arity), start, size, spans, arrays)


def _empty_table(view: CodesView, size: int, span: tuple[int, int]) -> KeyArrays:
    n_bytes = packed_bytes(view.n_symbols, view.arity)
    rows = np.empty(size * n_bytes + ROW_PADDING, np.uint8)
    rows[-ROW_PADDING:] = 0
    return KeyArrays(np.empty(view.arity ** span[1] + 1, np.uint32), np.empty(size, np.uint32), rows)


class TablesView:
    """The input of look-up: the codes, hash tables over the first ``n_sealed`` of them, and later changes.

    ``stale`` has one bit per position, 1 = its code has changed since the tables were built, or is None; ``changed``
    are the codes of those positions. ``native`` is the view as an object of the core; valid as long as this object
    lives.
    """

    def __init__(
        self, store: CodesView, segments: list[Segment], n_sealed: int, stale: U8 | None, changed: CodesView
    ) -> None:
        self.n_sealed = n_sealed
        self._parts = store, segments, stale, changed
        tables = [segment.native for segment in segments]
        self.native = _native.TablesView(store.native, tables, n_sealed, stale, changed.native)


class SingleQuery(Generic[Nearest, Within]):
    """The fast path of single queries without weights or filters: one call, since they take a few microseconds.

    ``search(codes, k, n_threads)`` and ``search_radius(codes, radius, n_threads)`` return None for arguments of unusual
    types, which are left to the slow path, and False for a query that is better scanned. ``budgets`` has pairs
    (largest k, units); ``kinds`` are the classes of the answers.
    """

    def __init__(
        self,
        view: TablesView,
        budgets: list[tuple[int, float]],
        radius_budget: float,
        kinds: tuple[type[Nearest], type[Within]],
    ) -> None:
        self._view = view
        native: Any = _native.SingleQuery(view.native, budgets, radius_budget, *kinds)
        self.search: Callable[[Any, Any, Any], Nearest | Literal[False] | None] = native.search
        self.search_radius: Callable[[Any, Any, Any], Within | Literal[False] | None] = native.search_radius


def lookup(
    view: TablesView, codes: U8, k: int, weights: Weights | None, budget: float, n_threads: int, stats: F64 | None
) -> tuple[I64, F32]:
    """As `search`, through hash tables; a query that would cost more than ``budget`` units is scanned.

    ``weights`` are the costs of differing symbols; ``stats`` is None, or receives `LOOKUP_STATS` per query.
    """
    ids, distances = empty_results(len(codes), k)
    if weights is None:
        _native.lookup(view.native, codes, k, budget, n_threads, ids, distances, stats, True)
    else:
        _native.lookup_weighted(view.native, codes, *weights, k, budget, n_threads, ids, distances, stats)
    return ids, distances


def lookup_costs(view: TablesView, codes: U8, k: int, budget: float, n_threads: int) -> tuple[F64, F64]:
    """The cost of `lookup` per query in units, above ``budget`` if it was exceeded; and in nanoseconds."""
    stats = np.zeros((len(codes), len(LOOKUP_STATS)))
    ids, distances = empty_results(len(codes), k)
    _native.lookup(view.native, codes, k, budget, n_threads, ids, distances, stats, False)
    costs, nanoseconds, scanned = (stats[:, LOOKUP_STATS.index(name)] for name in ("cost", "nanoseconds", "scanned"))
    return np.where(scanned > 0, np.maximum(costs, np.nextafter(budget, np.inf)), costs), nanoseconds


def lookup_radius(
    view: TablesView,
    codes: U8,
    radius: float,
    weights: Weights | None,
    budget: float,
    n_threads: int,
    stats: F64 | None,
) -> tuple[I64, I64, F32]:
    """As `search_radius`, through hash tables; the other arguments are those of `lookup`."""
    if weights is None:
        return _native.lookup_radius(view.native, codes, int(radius), budget, n_threads, stats)
    return _native.lookup_weighted_radius(view.native, codes, *weights, radius, budget, n_threads, stats)

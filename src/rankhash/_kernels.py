"""The one door to the native core: typed, documented calls on arrays that were checked before.

Python allocates, the core computes. Nothing else in the package imports ``_native``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _native
from .errors import InvalidInputError

U8 = NDArray[np.uint8]
I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U32 = NDArray[np.uint32]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

BLOCK = 256
"""Codes in one block of bit slices."""

SLICE = BLOCK // 8
"""Bytes of one bit slice of a block."""

ROW_PADDING = 8
"""Bytes behind the last row of a hash table."""

LOOKUP_STATS = ("probes", "buckets", "candidates", "duplicates", "hits", "radius", "scanned", "cost", "nanoseconds")
"""What look-up counts of each query."""


class Weights(NamedTuple):
    """What differing symbols cost, (n_symbols,), and the same as tables (n_queries, n_symbols, arity)."""

    values: F32
    tables: F32


@dataclass(frozen=True)
class CpuInfo:
    """What the native core runs on: see :func:`cpu_info`."""

    isa: str
    available: tuple[str, ...]
    n_threads: int


def cpu_info() -> CpuInfo:
    """The instruction set in use, those that this machine has, and the default number of threads.

    The environment variable ``RANKHASH_ISA`` (``scalar`` or ``avx2``) overrides the choice.

    >>> cpu_info().isa in cpu_info().available
    True
    """
    return CpuInfo(_native.isa(), tuple(_native.available_isas()), default_threads())


def use_isa(name: str) -> None:
    """Run all kernels on the instruction set ``name`` from now on."""
    available = _native.available_isas()
    if name not in available:
        raise InvalidInputError(
            f"RANKHASH_ISA={name!r} is not an instruction set of this machine; choose one of {', '.join(available)}"
        )
    _native.use_isa(name)


def default_threads() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve_threads(n_threads: int | None) -> int:
    """``n_threads`` as a positive number; None means every core that this process may use."""
    if n_threads is None:
        return default_threads()
    if not isinstance(n_threads, (int, np.integer)) or isinstance(n_threads, bool) or n_threads < 1:
        raise InvalidInputError(f"n_threads must be a positive integer or None, got {n_threads!r}")
    return int(n_threads)


def first_nonfinite_row(vectors: F32) -> int:
    """The first row that holds NaN or infinity, or -1."""
    return _native.first_nonfinite_row(vectors)


def encode(
    vectors: F32,
    projections: F32,
    bias: F32 | None,
    center: F32 | None,
    n_symbols: int,
    arity: int,
    n_threads: int,
) -> tuple[U8, int]:
    """Packed codes of the winners among ``(x - center)·w + bias``, and the first row that is not finite, or -1.

    ``vectors`` is (n, d) float32 and contiguous; ``projections`` is (rows, d), ``bias`` (rows,) and ``center`` (d,).
    With n_symbols · arity rows, the rows of one symbol stand together and the first of the largest wins; with arity 2
    and n_symbols rows, a symbol is 1 where its row is positive. Each projection is summed in the order of the
    dimensions by fused multiply-adds, so that codes depend neither on the instruction set nor on the number of threads
    nor on which vectors come together.
    """
    codes = np.empty((len(vectors), packed_bytes(n_symbols, arity)), np.uint8)
    return codes, _native.encode(vectors, projections, bias, center, n_symbols, arity, n_threads, codes)


def project(vectors: F32, projections: F32, bias: F32 | None, center: F32 | None, n_threads: int) -> F32:
    """The values ``(n, rows)`` of ``(x - center)·w + bias`` that :func:`encode` compares, summed in the same order."""
    values = np.empty((len(vectors), len(projections)), np.float32)
    _native.project(vectors, projections, bias, center, n_threads, values)
    return values


def encode_windows(vectors: F32, windows: NDArray[np.int32], n_threads: int) -> tuple[U8, int]:
    """Packed codes of the winners among products of entries of x, and the first row that is not finite, or -1.

    ``windows`` is (n_symbols, arity, degree): candidate k of symbol s is the product of ``x[windows[s, k]]``.
    """
    n_symbols, arity, _ = windows.shape
    codes = np.empty((len(vectors), packed_bytes(n_symbols, arity)), np.uint8)
    return codes, _native.encode_windows(vectors, windows, n_threads, codes)


def packed_bytes(n_symbols: int, arity: int) -> int:
    """Bytes of one packed code."""
    return (n_symbols * (arity - 1).bit_length() + 7) // 8


def pack(symbols: U8, arity: int) -> U8:
    """Packed codes of symbols that are all below ``arity``."""
    codes = np.empty((len(symbols), packed_bytes(symbols.shape[1], arity)), np.uint8)
    _native.pack(symbols, arity, codes)
    return codes


def unpack(codes: U8, n_symbols: int, arity: int) -> U8:
    """The symbols ``(n, n_symbols)`` of packed codes."""
    symbols = np.empty((len(codes), n_symbols), np.uint8)
    _native.unpack(codes, arity, symbols)
    return symbols


def first_invalid_code(codes: U8, n_symbols: int, arity: int) -> int:
    """The first row with a symbol of ``arity`` or above, or with padding bits that are not 0; or -1."""
    return _native.first_invalid_code(codes, n_symbols, arity)


def allocate_blocks(n_codes: int, n_bits: int, start: U8 | None = None) -> U8:
    """Cache-aligned room ``(n_blocks, n_bits, SLICE)`` for bit slices: a copy of ``start``, then zeros."""
    shape = (-(-n_codes // BLOCK), n_bits, SLICE)
    n_bytes = shape[0] * shape[1] * shape[2]
    raw = np.empty(n_bytes + 64, np.uint8)  # not np.zeros: only this asks the system for huge pages
    first = -raw.ctypes.data % 64
    blocks = raw[first : first + n_bytes].reshape(shape)
    n_copied = 0 if start is None else len(start)
    if start is not None:
        blocks[:n_copied] = start
    blocks[n_copied:] = 0
    return blocks


def write_slices(blocks: U8, start: int, codes: U8) -> None:
    """Write packed codes at the positions ``start``, ``start + 1``, … of ``blocks``."""
    _native.write_slices(blocks, start, codes)


def write_slices_at(blocks: U8, positions: I64, codes: U8) -> None:
    """Write packed codes at the given positions of ``blocks``."""
    _native.write_slices_at(blocks, positions, codes)


def read_slices(blocks: U8, positions: I64, n_bytes: int) -> U8:
    """The packed codes at the given positions of ``blocks``."""
    codes = np.empty((len(positions), n_bytes), np.uint8)
    _native.read_slices(blocks, positions, codes)
    return codes


@dataclass(frozen=True)
class CodesView:
    """What a search reads: the first ``size`` codes of ``blocks``.

    ``live`` has a bit a position (kept: 1), least significant first, SLICE bytes a block, or is None for all of them.
    ``ids`` are the codes' ids, or None if those are the positions; they ascend over the first ``n_ordered``.
    """

    blocks: U8
    size: int
    n_symbols: int
    arity: int
    live: U8 | None
    ids: I64 | None
    n_ordered: int

    def native(self) -> _native.CodesView:
        """The core's form of it; valid as long as this object lives."""
        return _native.CodesView(
            self.blocks, self.size, self.n_symbols, self.arity, self.live, self.ids, self.n_ordered
        )


def search(view: CodesView, codes: U8, k: int, n_threads: int) -> tuple[I64, F32]:
    """Ids and distances ``(n_queries, k)`` of the k codes that differ in the fewest symbols."""
    ids, distances = _empty_results(len(codes), k)
    _native.search(view.native(), codes, k, n_threads, ids, distances)
    return ids, distances


def search_tables(view: CodesView, tables: F32, k: int, n_threads: int) -> tuple[I64, F32]:
    """Ids and distances ``(n_queries, k)`` of the k codes with the smallest sums of table entries."""
    ids, distances = _empty_results(len(tables), k)
    _native.search_tables(view.native(), tables, k, n_threads, ids, distances)
    return ids, distances


def search_radius(view: CodesView, codes: U8, radius: int, n_threads: int) -> tuple[I64, I64, F32]:
    """Offsets ``(n_queries + 1,)``, ids and distances of all codes that differ in at most ``radius`` symbols."""
    return _native.search_radius(view.native(), codes, radius, n_threads)


def search_tables_radius(view: CodesView, tables: F32, radius: float, n_threads: int) -> tuple[I64, I64, F32]:
    """Offsets, ids and distances of all codes whose sum of table entries is at most ``radius``."""
    return _native.search_tables_radius(view.native(), tables, radius, n_threads)


class Segment:
    """Hash tables over the codes at the positions ``start`` … ``start + size - 1``; never changed once made.

    ``spans`` are the runs of symbols (first, count) that make the keys; for each of them there are ``offsets``
    (n_keys + 1,) of the buckets, ``places`` (size,): positions without ``start``, and ``rows``: the packed codes in the
    same order, and :data:`ROW_PADDING` bytes.
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
        """Bytes of memory held."""
        return sum(a.nbytes for table in self.arrays for a in table) + sum(bits.nbytes for bits in self._occupied)


class KeyArrays(NamedTuple):
    """The arrays of one hash table of a :class:`Segment`."""

    offsets: U32
    places: U32
    rows: U8


def build_segment(view: CodesView, start: int, size: int, spans: list[tuple[int, int]], n_threads: int) -> Segment:
    """Hash tables over ``size`` codes from ``start`` on, a multiple of BLOCK; a span has at most 2^31 keys."""
    n_bytes = packed_bytes(view.n_symbols, view.arity)
    arrays = [
        KeyArrays(
            np.empty(view.arity**count + 1, np.uint32),
            np.empty(size, np.uint32),
            np.empty(size * n_bytes + ROW_PADDING, np.uint8),
        )
        for _, count in spans
    ]
    for table in arrays:
        table.rows[-ROW_PADDING:] = 0
    offsets, places, rows = map(list, zip(*arrays, strict=True))
    _native.build_tables(view.native(), start, size, spans, offsets, places, rows, n_threads)
    return Segment((view.n_symbols, view.arity), start, size, spans, arrays)


class TablesView:
    """What look-up reads: the codes, hash tables over the first ``n_sealed`` of them, and what has changed since.

    ``stale`` has a bit a position whose code is no longer that of the tables, or is None; ``changed`` are the codes of
    those positions. ``native`` is the core's form of it; valid as long as this object lives.
    """

    def __init__(
        self, store: CodesView, segments: list[Segment], n_sealed: int, stale: U8 | None, changed: CodesView
    ) -> None:
        self.n_sealed = n_sealed
        self._parts = store, segments, stale, changed
        tables = [segment.native for segment in segments]
        self.native = _native.TablesView(store.native(), tables, n_sealed, stale, changed.native())


def lookup(
    view: TablesView, codes: U8, k: int, weights: Weights | None, budget: float, n_threads: int, stats: F64 | None
) -> tuple[I64, F32]:
    """As :func:`search`, through hash tables; a query that would cost more than ``budget`` nanoseconds is scanned.

    ``weights`` are what differing symbols cost; ``stats`` is None or takes :data:`LOOKUP_STATS` a query.
    """
    ids, distances = _empty_results(len(codes), k)
    if weights is None:
        _native.lookup(view.native, codes, k, budget, n_threads, ids, distances, stats, True)
    else:
        _native.lookup_weighted(view.native, codes, *weights, k, budget, n_threads, ids, distances, stats)
    return ids, distances


def lookup_costs(view: TablesView, codes: U8, k: int, budget: float, n_threads: int) -> F64:
    """Estimated nanoseconds that :func:`lookup` takes for each query, infinite if more than ``budget``."""
    stats = np.zeros((len(codes), len(LOOKUP_STATS)))
    ids, distances = _empty_results(len(codes), k)
    _native.lookup(view.native, codes, k, budget, n_threads, ids, distances, stats, False)
    return np.where(stats[:, LOOKUP_STATS.index("scanned")] > 0, np.inf, stats[:, LOOKUP_STATS.index("cost")])


def lookup_radius(
    view: TablesView,
    codes: U8,
    radius: float,
    weights: Weights | None,
    budget: float,
    n_threads: int,
    stats: F64 | None,
) -> tuple[I64, I64, F32]:
    """As :func:`search_radius`, through hash tables; the other arguments are those of :func:`lookup`."""
    if weights is None:
        return _native.lookup_radius(view.native, codes, int(radius), budget, n_threads, stats)
    return _native.lookup_weighted_radius(view.native, codes, *weights, radius, budget, n_threads, stats)


def _empty_results(n_queries: int, k: int) -> tuple[I64, F32]:
    return np.empty((n_queries, k), np.int64), np.empty((n_queries, k), np.float32)


@dataclass(frozen=True)
class PairTotals:
    """What a pass over labelled pairs came to."""

    bound: float
    """The sum of the pairs' bounds."""
    updates: int
    """Pairs that asked for a change."""
    errors: int
    """Pairs whose symbols contradicted their label."""


def pad_columns(vectors: F32) -> F32:
    """The vectors with zeros appended up to a multiple of 8 columns, as :func:`train_pairs` takes them."""
    missing = -vectors.shape[1] % 8
    return np.ascontiguousarray(np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors)


def train_pairs(
    vectors: F32,
    pairs: I32,
    labels: U8,
    weights: F32,
    lag: F32,
    *,
    hinge: bool,
    rho: float,
    lam: float,
    rate: float,
    rate_step: float,
    age: int,
) -> PairTotals:
    """Learn one rank function from pairs ``(t, 2)`` in their order; changes ``weights`` and ``lag`` ``(arity, d)``.

    Every pair takes a step from its largest rival (``rho`` is added to assignments that tell a similar pair
    apart, ``lam`` to those that put a dissimilar one together) to the winners, or with ``hinge`` to the best
    assignment without an error. The rate of pair t is ``rate + t * rate_step``. ``age`` counts the pairs since
    averaging began and is negative before: the mean of the weights since then is ``weights - lag / age``.
    ``d`` is a multiple of 8.
    """
    options = (hinge, rho, lam, rate, rate_step, age)
    return PairTotals(*_native.train_pairs(vectors, pairs, labels, *options, weights, lag))


def pair_gradient(
    scores: F32, pairs: I32, labels: U8, *, hinge: bool, rho: float, lam: float
) -> tuple[F32, PairTotals]:
    """The descent direction ``(n, arity)`` of the scores ``(n, arity)``, summed over all pairs."""
    gradient = np.zeros_like(scores)
    totals = _native.pair_gradient(scores, pairs, labels, hinge, rho, lam, gradient)
    return gradient, PairTotals(*totals)


def pair_histograms(agreement: F32, labels: U8, top: float, n_bins: int, n_threads: int) -> NDArray[np.float64]:
    """Histograms ``(2, n_bins)`` of the agreement ``(n, n)`` of dissimilar and similar pairs i < j, from 0 to ``top``.

    ``labels`` ``(n, n)`` are 1 for similar and 0 for dissimilar pairs; others are left out. A pair is shared by the
    two bins around it, so that the histograms change smoothly with the agreement.
    """
    histograms = np.empty((2, n_bins))
    _native.pair_histograms(agreement, labels, top, n_threads, histograms)
    return histograms


def pair_slopes(agreement: F32, labels: U8, top: float, tables: F32, n_threads: int) -> F32:
    """The entry of ``tables`` ``(2, n_bins)`` for each pair's label and the bin below its agreement, 0 if left out.

    It takes the place of the agreement ``(n, n)``, which is changed.
    """
    _native.pair_slopes(agreement, labels, top, tables, n_threads)
    return agreement


def refine(
    costs: F32,
    products: F32,
    crossing: F32,
    penalty: float,
    symbols: U8,
    *,
    n_sweeps: int,
    n_kicks: int,
    n_threads: int,
) -> None:
    """Change ``symbols`` ``(n, n_symbols)`` where a decoder's sum of rows describes the vectors better then.

    ``costs`` ``(n, rows)`` are |c|² - 2 x·c for each row c of the decoder, ``products`` ``(rows, rows)`` 2 c·c', and 0
    for rows of the same symbol. What becomes smaller is |x - Σ c|² + penalty · (Σ products - Σ ``crossing``)², with
    the second sum over all pairs of chosen rows and the third, of ``crossing`` ``(rows,)``, over the chosen rows.

    One symbol after another takes its best value, at most ``n_sweeps`` times over; then some are changed at random
    and the sweeps begin again, ``n_kicks`` times, and the better outcome stays.
    """
    arity = costs.shape[1] // symbols.shape[1]
    _native.refine(costs, products, crossing, penalty, arity, n_sweeps, n_kicks, n_threads, symbols)


if "RANKHASH_ISA" in os.environ:
    use_isa(os.environ["RANKHASH_ISA"])

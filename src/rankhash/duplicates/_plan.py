"""The plan of a join: hash tables or a scan, whichever is cheapest by an estimate from a sample of the codes.

::

    symbols ──▶ m runs;  near codes differ in at most t of them ──▶ one table per choice of m - t runs

More runs give more tables with longer keys: fewer codes share a bucket, but all codes are sorted more often.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .. import _kernels
from .._types import F32, I64, U64
from ..codes import CodeLayout
from ._inputs import JoinCodes

_MOST_TABLES = 80
_MOST_RUNS = 64
_EXTRA_RUNS = 5  # numbers of runs that are compared, beyond the smallest
_SHARES = (1.0, 0.75, 0.5)  # of the symbols, by weight
_N_SAMPLE = 1 << 14
_SLACK = 1 + 1e-6  # safety factor for rounded sums of weights

# Nanoseconds on one core, measured on random codes of 32 to 256 bits.
_SORT_ROW = 40.0  # per code and table
_SORT_WORD = 12.0  # per further word of a code
_COMPARE_WORD = 0.7  # per pair of codes of a bucket and word
_SCAN_BITS = 0.0027  # per pair of codes of a scan and bit
_SCAN_WEIGHTED = 3.0  # factor of a scan with weights


@dataclass(frozen=True)
class Plan:
    """The hash tables of a join, or None for a scan; and the estimated seconds on one core."""

    tables: _kernels.JoinTables | None
    seconds: float

    @property
    def method(self) -> str:
        """``"tables"`` or ``"scan"``."""
        return "scan" if self.tables is None else "tables"


def nearness(layout: CodeLayout, radius: float, weights: F32 | None) -> _kernels.Nearness:
    """The radius in the form of the core, with the largest number of differing symbols of positive weight."""
    if weights is None:
        whole = min(math.floor(radius), layout.n_symbols)
        return _kernels.Nearness(float(whole), None, whole)
    radius = float(np.float32(min(radius, float(np.finfo(np.float32).max))))
    return _kernels.Nearness(radius, weights, _most_differing(weights[weights > 0], radius))


def _most_differing(costs: F32, radius: float) -> int:
    """The largest number of costs whose sum is at most the radius."""
    sums = np.cumsum(np.sort(costs).astype(np.float64))
    return int(np.searchsorted(sums, radius * _SLACK, side="right"))


def choose_plan(firsts: JoinCodes, others: JoinCodes | None, near: _kernels.Nearness) -> Plan:
    """The plan with the smallest estimated cost."""
    n, m = len(firsts.codes), len((others or firsts).codes)
    n_pairs = n * m if others else n * (n - 1) / 2
    layout = firsts.layout
    scan = n_pairs * _SCAN_BITS * layout.bits * (1 if near.weights is None else _SCAN_WEIGHTED)
    best = Plan(None, scan / 1e9)
    sample = _sample_words(others or firsts)
    rows = m + (n if others else 0)
    words = -(-layout.bits // 64)
    for tables in _candidates(layout, near):
        sorting = len(tables.tables) * rows * (_SORT_ROW + _SORT_WORD * (words - 1))
        if sorting / 1e9 >= best.seconds:
            continue
        meeting = sum(_meeting_rate(sample, _table_mask(tables.runs, table)) for table in tables.tables)
        cost = (sorting + meeting * n_pairs * _COMPARE_WORD * words) / 1e9
        if cost < best.seconds:
            best = Plan(tables, cost)
    return best


def _candidates(layout: CodeLayout, near: _kernels.Nearness) -> Iterator[_kernels.JoinTables]:
    """Tables over several splits of the symbols into runs."""
    for split in _splits(layout, near) if near.weights is None else _weighted_splits(near.weights, near.radius):
        n_agree = len(split) - _differing_runs(split, near)
        chosen = [sum(1 << run for run in runs) for runs in combinations(range(len(split)), n_agree)]
        yield _kernels.JoinTables(_run_masks(layout, split), chosen)


def _differing_runs(split: list[I64], near: _kernels.Nearness) -> int:
    """The largest number of runs in which near codes differ."""
    if near.weights is None:
        return near.max_differing
    return _most_differing(np.array([near.weights[run].min() for run in split], np.float32), near.radius)


def _splits(layout: CodeLayout, near: _kernels.Nearness) -> Iterator[list[I64]]:
    """Runs of neighbouring symbols, of every m-th symbol, and of symbols drawn at random; for several m."""
    symbols, least = np.arange(layout.n_symbols), near.max_differing + 1
    shuffled = np.random.default_rng(0).permutation(symbols)
    for n_runs in range(least, min(least + _EXTRA_RUNS, len(symbols), _MOST_RUNS) + 1):
        if math.comb(n_runs, near.max_differing) <= _MOST_TABLES:
            yield np.array_split(symbols, n_runs)
            yield [symbols[r::n_runs] for r in range(n_runs)]
            yield np.array_split(shuffled, n_runs)


def _weighted_splits(weights: F32, radius: float) -> Iterator[list[I64]]:
    """Runs of symbols of similar weight, without the lightest symbols, in all of which near codes may differ."""
    by_weight = np.argsort(-weights, kind="stable")[: np.count_nonzero(weights)]
    for share in _SHARES:
        symbols = by_weight[: math.ceil(share * len(by_weight))]
        n_found = 0
        for n_runs in range(1, min(len(symbols), _MOST_RUNS) + 1):
            split = np.array_split(symbols, n_runs)
            differing = _differing_runs(split, _kernels.Nearness(radius, weights, 0))
            if differing < n_runs and math.comb(n_runs, differing) <= _MOST_TABLES and n_found <= _EXTRA_RUNS:
                n_found += 1
                yield split


def _run_masks(layout: CodeLayout, runs: list[I64]) -> U64:
    """The bits of each run's symbols, (n_runs, n_words)."""
    bits = np.zeros((len(runs), -(-layout.bits // 64) * 64), np.uint8)
    width = layout.bits_per_symbol
    for row, symbols in zip(bits, runs, strict=True):
        row[: layout.bits].reshape(layout.n_symbols, width)[symbols] = 1
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _table_mask(runs: U64, table: int) -> U64:
    chosen = [run for r, run in enumerate(runs) if table >> r & 1]
    mask: U64 = np.bitwise_or.reduce(np.stack(chosen), axis=0)
    return mask


def _sample_words(codes: JoinCodes) -> U64:
    """A sample of the codes, as words."""
    rows = codes.codes
    if len(rows) > _N_SAMPLE:
        rows = rows[np.random.default_rng(0).choice(len(rows), _N_SAMPLE, replace=False)]
    padded = np.zeros((len(rows), -(-rows.shape[1] // 8) * 8), np.uint8)
    padded[:, : rows.shape[1]] = rows
    return padded.view("<u8").astype(np.uint64)


def _meeting_rate(words: U64, mask: U64) -> float:
    """The fraction of pairs of codes that agree in all bits of the mask."""
    n = len(words)
    if n < 2:
        return 0.0
    keys = np.zeros(n, np.uint64)
    for word, part in zip(words.T, mask, strict=True):
        keys = (keys ^ (word & part)) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    counts = np.unique(keys, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1)).sum() / (n * (n - 1.0)))

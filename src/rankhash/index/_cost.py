"""The cost model of look-up: whether a query uses look-up at all, and the cost at which it falls back to a scan.

A query that spends a time t on look-up and then falls back to a scan has lost t. The limit on t comes from a sample:
some stored codes are looked up as queries, and the limit minimises their mean cost, scans included. If that mean is not
clearly below the cost of a scan, queries do not use look-up.

The cost of a look-up is counted in units that depend on the codes alone, about nanoseconds of a reference machine (see
`LookupCosts` in the core). The time of a unit and of a scan on this machine is measured once per process and layout
(`Calibration`). Only the costs of the sample, in units, are saved with an index.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .. import _kernels
from .._types import F64, U8
from ..codes import CodeLayout

MANY = 7
"""Batch size from which the batched scan cost applies."""
RADIUS_SHARE = 0.5
"""Cost limit of a look-up by radius, relative to a scan."""

KS = (1, 10, 100, 1000)
SAMPLE = 64
_LONGEST_TRY = 0.4  # cost limit for queries of the sample, in units per code of 64 bits
_WORTH = 0.9  # largest mean cost, relative to a scan, at which look-up is used
_MARGIN = 1.25  # factor from the best limit of the sample to that of queries

_SCANNED = (1 << 15, 1 << 17)  # codes in two scans; the difference of their times gives the time per code
_BATCH = 64
_TRY = 20_000.0  # cost limit of a look-up in the calibration, in units
_TRIES = 16


@dataclass(frozen=True)
class Calibration:
    """Times of scan and look-up on this machine, for codes of one layout."""

    scan_one: float
    """Nanoseconds per code in the scan of a single query."""
    scan_many: float
    """Nanoseconds per code and query in the scan of a batch."""
    unit: float
    """Nanoseconds per unit of look-up."""

    _known: ClassVar[dict[tuple[int, int, str], Calibration]] = {}

    @classmethod
    def of(cls, codes: _kernels.CodesView, tables: _kernels.TablesView) -> Calibration:
        """The calibration for codes of this layout; the first call measures it, in about a millisecond."""
        key = (codes.n_symbols, codes.arity, _kernels.cpu_info().isa)
        if key in cls._known or not tables.n_sealed:
            return cls._known.get(key, cls(0.0, 0.0, 1.0))
        cls._known[key] = cls.measure(CodeLayout(codes.n_symbols, codes.arity), codes, tables)
        return cls._known[key]

    @classmethod
    def measure(cls, layout: CodeLayout, codes: _kernels.CodesView, tables: _kernels.TablesView) -> Calibration:
        """The calibration, measured with scans of these codes and look-ups in these tables."""
        places = np.linspace(0, tables.n_sealed - 1, _BATCH).astype(np.int64)
        queries = _kernels.read_slices(codes.blocks, places, layout.n_bytes)
        one, many = _scan_time(codes, queries[:1]), _scan_time(codes, queries) / _BATCH
        units, nanoseconds = _kernels.lookup_costs(tables, queries[:_TRIES], 10, _TRY, 1)
        return cls(one, many, max(float(np.median(nanoseconds / np.maximum(units, 1.0))), 1e-3))

    def scan_cost(self, n: int, n_queries: int) -> float:
        """The cost per query, in units, of a scan of ``n`` codes for a batch of ``n_queries``."""
        return (self.scan_many if n_queries >= MANY else self.scan_one) * n / self.unit


def _scan_time(codes: _kernels.CodesView, queries: U8) -> float:
    """Nanoseconds of CPU time per code in a scan for ``queries``, without the fixed cost of a scan."""
    sizes = [min(codes.size, n) for n in _SCANNED]
    if sizes[0] == sizes[1]:
        sizes[0] //= 4
    short, long = (_fastest(codes, n, queries) for n in sizes)
    return max(long - short, 0.1 * long) / (sizes[1] - sizes[0])


def _fastest(codes: _kernels.CodesView, n: int, queries: U8) -> int:
    """Nanoseconds of the fastest of three scans of the first ``n`` codes."""
    part = _kernels.CodesView(codes.blocks, n, codes.n_symbols, codes.arity, None, None, n)
    times = []
    for _ in range(3):
        start = time.thread_time_ns()
        _kernels.search(part, queries, 10, 1)
        times.append(time.thread_time_ns() - start)
    return min(times)


def best_try(costs: F64, scan: float) -> float:
    """The cost limit of look-up, given the costs of a sample and the cost of a scan; 0 means scan at once.

    The limit is the larger of two. The first minimises the mean cost of the sample. The second is half of the mean
    saving: queries may lie farther from the codes than the codes from each other, and with this limit look-up pays if
    at least a third of the queries resembles the sample.
    """
    finite = np.sort(costs[costs < scan])
    done = np.arange(1, len(finite) + 1)
    lost = len(costs) - done
    means = (np.cumsum(finite) + lost * (finite + scan)) / max(len(costs), 1)
    if len(finite) == 0 or means.min() > _WORTH * scan:
        return 0.0
    return min(scan, max(float(finite[means.argmin()]) * _MARGIN, (scan - float(means.min())) / 2))


@dataclass
class CostModel:
    """The costs of look-up, in units, for a sample of the stored codes, by k."""

    n_codes: int = 0
    """Number of codes when the sample was taken."""
    costs: dict[int, F64] = field(default_factory=dict)
    """Costs by k; infinite for queries that exceeded the limit."""

    @classmethod
    def measure(cls, layout: CodeLayout, view: _kernels.TablesView, codes: U8, n_threads: int) -> CostModel:
        """The model of an index, with some of its own codes as queries."""
        n = view.n_sealed
        longest = _LONGEST_TRY * n * max(layout.bits, 16) / 64
        model = cls(n)
        for k in KS:
            if 4 * k > n:
                break
            costs, _ = _kernels.lookup_costs(view, codes, k + 1, longest, n_threads)  # k besides itself
            model.costs[k] = np.where(costs > longest, np.inf, costs)
            if not np.isfinite(model.costs[k]).any():
                break
        return model

    def tries(self, calibration: Calibration, n: int) -> dict[int, tuple[float, float]]:
        """Cost limits of look-up by k among ``n`` codes, for a few queries and for a batch."""
        one, many = (calibration.scan_cost(n, n_queries) for n_queries in (1, MANY))
        return {k: (best_try(costs, one), best_try(costs, many)) for k, costs in self.costs.items()}

    def state(self) -> dict[str, Any]:
        """The model as JSON values for a file; None stands for infinity."""
        samples = [[k, [c if math.isfinite(c) else None for c in map(float, costs)]] for k, costs in self.costs.items()]
        return {"n_codes": self.n_codes, "samples": samples}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> CostModel:
        """The model from its state; empty for files of versions without samples."""
        if "samples" not in state:
            return cls()
        costs = {int(k): np.array([math.inf if c is None else float(c) for c in row]) for k, row in state["samples"]}
        if not all(k > 0 and row.ndim == 1 and len(row) and (row >= 0).all() for k, row in costs.items()):
            raise ValueError("the costs of look-up are not lists of non-negative numbers")
        return cls(int(state["n_codes"]), costs)

    def is_stale(self, n: int) -> bool:
        """Whether the number of codes has doubled or halved since the sample was taken."""
        return not self.n_codes / 2 < n < 2 * self.n_codes

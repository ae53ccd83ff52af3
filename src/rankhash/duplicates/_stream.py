"""Near pairs in ranges of the first member, which bounds memory for any number of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import _kernels
from .._types import F32, I64, INT64, U8, Array
from ._inputs import JoinCodes
from ._plan import Plan

Found = tuple[I64, I64, F32]

_N_SAMPLE = 256
_SCAN_QUERIES = 1024
_LARGEST_SCAN = 1 << 16


@dataclass
class Join:
    """The codes of a join, the definition of near pairs, and the plan."""

    firsts: JoinCodes
    others: JoinCodes | None
    near: _kernels.Nearness
    plan: Plan
    n_threads: int

    @cached_property
    def blocks(self) -> U8:
        """The codes that a scan compares."""
        return (self.others or self.firsts).blocks()

    def estimate(self) -> float:
        """The number of pairs, from the hits of a few codes."""
        n = len(self.firsts.codes)
        if n == 0:
            return 0.0
        chosen = np.sort(np.random.default_rng(1).choice(n, min(n, _N_SAMPLE), replace=False))
        offsets, _, _ = self._scan(self.firsts.codes[chosen], 0)
        hits = int(offsets[-1])
        return hits * n / len(chosen) if self.others else (hits - len(chosen)) * n / len(chosen) / 2

    def ranges(self, expected: float, capacity: int) -> Iterator[Found]:
        """Positions and distances in the order (first, second), at most about ``capacity`` pairs at a time."""
        if self.plan.tables is None:
            return self._scanned(capacity)
        return self._joined(self.plan.tables, expected, capacity)

    def _joined(self, tables: _kernels.JoinTables, expected: float, capacity: int) -> Iterator[Found]:
        """One pass over all hash tables per range; a range with too many pairs is halved."""
        n, begin = len(self.firsts.codes), 0
        step = max(1, n if 2 * expected <= capacity else int(n * capacity / (2 * expected)))
        others = self.others.codes if self.others else None
        while begin < n:
            end = min(n, begin + step)
            limit = capacity if end - begin > 1 else 2**62
            found = _kernels.join(
                self.firsts.codes, (begin, end), others, self.firsts.shape, self.near, tables, limit, self.n_threads
            )
            if found is None:
                step = max(1, (end - begin) // 2)
                continue
            yield found
            begin, step = end, _next_step(step, len(found[0]), capacity)

    def _scanned(self, capacity: int) -> Iterator[Found]:
        n, begin, step = len(self.firsts.codes), 0, _SCAN_QUERIES
        while begin < n:
            end = min(n, begin + step)
            start = 0 if self.others else begin // _kernels.BLOCK * _kernels.BLOCK
            offsets, ids, distances = self._scan(self.firsts.codes[begin:end], start)
            first = np.repeat(np.arange(begin, end), np.diff(offsets))
            yield _in_order(first, ids.view(INT64) + start, distances, None if self.others else first)
            begin, step = end, min(_next_step(step, len(ids), capacity), _LARGEST_SCAN)

    def _scan(self, codes: U8, start: int) -> Found:
        view = (self.others or self.firsts).view(self.blocks, start)
        if self.near.weights is None:
            return _kernels.search_radius(view, codes, int(self.near.radius), self.n_threads)
        symbols = self.firsts.layout.unpack(codes)
        differs = symbols[:, :, None] != np.arange(self.firsts.layout.arity, dtype=np.uint8)
        tables = (differs * self.near.weights[:, None]).astype(np.float32)
        return _kernels.search_scores_radius(view, tables, self.near.radius, self.n_threads)


def _next_step(step: int, n_pairs: int, capacity: int) -> int:
    """The length of the next range: about half of the capacity in pairs, at most twice the last length."""
    return max(1, min(2 * step, int(step * capacity / (2 * n_pairs)) if n_pairs else 2 * step))


def _in_order(first: I64, second: I64, distances: F32, after: Array | None) -> Found:
    if after is not None:
        kept = second > after
        first, second, distances = first[kept], second[kept], distances[kept]
    order = np.lexsort((second, first))
    return first[order], second[order], distances[order]

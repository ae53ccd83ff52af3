"""The plan of new hash tables: which runs of symbols are keys, over which codes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from .. import _kernels
from .._types import U8
from ..codes import CodeLayout
from ._cost import CostModel

Span = tuple[int, int]

_MEAN_BUCKET = 8  # codes per bucket: 8 codes of 64 bits fill one cache line
_KEY_BYTES = 4.125  # 4 bytes for the offset of a key, 1 bit for whether its bucket is empty
_MOST_KEYS = 1 << 31
MOST_TABLES = 16


def key_spans(layout: CodeLayout, n: int, n_tables: int | str) -> list[Span]:
    """Disjoint runs of symbols (first, count), one per table, whose values are the keys of the tables over ``n`` codes.

    The number of keys is limited such that the index takes (1 + n_tables) · (bits / 8 + 4) bytes per code. That leaves
    4 bytes per code for the keys of all tables, minus the padding of packed rows to whole bytes. With ``"auto"``, a run
    has about n / 8 values, and there are as many tables as such runs fit into a code, but at most 16.
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
    """Tables to build over some codes of a store, without a lock.

    The store may be searched and grow meanwhile. If planned codes change, `TableStore.install` rejects the result.
    """

    layout: CodeLayout
    view: _kernels.CodesView
    kept: list[_kernels.Segment]
    """Existing segments that precede the new one."""
    start: int
    size: int
    spans: list[Span]
    sample: U8
    """Codes for measuring the cost of look-up; empty if the cost is known."""
    edition: int

    def make(
        self, n_threads: int, stopped: Callable[[], bool] = lambda: False
    ) -> tuple[_kernels.Segment, CostModel | None] | None:
        """The new segment and its cost model; None if ``stopped``, which is called between tables, returned True."""
        segment = _kernels.build_segment(self.view, self.start, self.size, self.spans, n_threads, stopped)
        if segment is None or stopped():
            return None
        if not len(self.sample):
            return segment, None
        layout, blocks = self.layout, _kernels.allocate_blocks(0, self.layout.bits)
        nothing = _kernels.CodesView(blocks, 0, layout.n_symbols, layout.arity, None, None, 0)
        tables = _kernels.TablesView(self.view, [*self.kept, segment], self.start + self.size, None, nothing)
        return segment, CostModel.measure(layout, tables, self.sample, n_threads)

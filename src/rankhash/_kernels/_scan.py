"""Search by comparing all codes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import _native
from .._types import F32, FLOAT32, I64, INT64, U8


@dataclass(frozen=True)
class CodesView:
    """The input of a search: the first ``size`` codes of ``blocks``.

    ``live`` has one bit per position (1 = live), least significant first, SLICE bytes per block; None: all are live.
    ``ids`` are the codes' ids, or None if those are the positions; they ascend over the first ``n_ordered``.
    """

    blocks: U8
    size: int
    n_symbols: int
    arity: int
    live: U8 | None
    ids: I64 | None
    n_ordered: int

    @cached_property
    def native(self) -> _native.CodesView:
        """The view as an object of the core; valid as long as this object lives."""
        return _native.CodesView(
            self.blocks, self.size, self.n_symbols, self.arity, self.live, self.ids, self.n_ordered
        )


def search(view: CodesView, codes: U8, k: int, n_threads: int) -> tuple[I64, F32]:
    """Ids and distances ``(n_queries, k)`` of the k codes that differ in the fewest symbols."""
    ids, distances = empty_results(len(codes), k)
    _native.search(view.native, codes, k, n_threads, ids, distances)
    return ids, distances


def search_scores(view: CodesView, tables: F32, k: int, n_threads: int) -> tuple[I64, F32]:
    """Ids and distances ``(n_queries, k)`` of the k codes with the smallest sums of table entries."""
    ids, distances = empty_results(len(tables), k)
    _native.search_scores(view.native, tables, k, n_threads, ids, distances)
    return ids, distances


def search_radius(view: CodesView, codes: U8, radius: int, n_threads: int) -> tuple[I64, I64, F32]:
    """Offsets ``(n_queries + 1,)``, ids and distances of all codes that differ in at most ``radius`` symbols."""
    return _native.search_radius(view.native, codes, radius, n_threads)


def search_scores_radius(view: CodesView, tables: F32, radius: float, n_threads: int) -> tuple[I64, I64, F32]:
    """Offsets, ids and distances of all codes whose sum of table entries is at most ``radius``."""
    return _native.search_scores_radius(view.native, tables, radius, n_threads)


def empty_results(n_queries: int, k: int) -> tuple[I64, F32]:
    """Empty arrays for the answers of a search."""
    return np.empty((n_queries, k), INT64), np.empty((n_queries, k), FLOAT32)

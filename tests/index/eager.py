"""LookupIndex with tables over few codes, used at any cost, so that small tests take the way through the tables."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rankhash import (
    LookupIndex,
)
from rankhash.index._segments import TableStore


class EagerStore(TableStore):
    """Makes tables of few codes and tries them however long it takes."""

    tail = 64
    longest = 1e15

    def tries(self):
        return [(1 << 40, self.longest, self.longest)] if self.segments else []

    def radius_try(self, n_queries):
        return 1e15 if self.segments else 0.0


class HesitantStore(EagerStore):
    """Gives up in the middle of many queries."""

    longest = 2000.0


class Eager(LookupIndex):
    _store_class: ClassVar = EagerStore


class Hesitant(Eager):
    _store_class: ClassVar = HesitantStore


class Single(Eager):
    def __init__(self, layout, *, n_tables=1):
        super().__init__(layout, n_tables=n_tables)


def clustered(rng, layout, n):
    centres = rng.integers(0, layout.arity, (200, layout.n_symbols))
    symbols = centres[rng.integers(0, 200, n)]
    noise = rng.random(symbols.shape) < 0.05
    return layout.pack(np.where(noise, rng.integers(0, layout.arity, symbols.shape), symbols))

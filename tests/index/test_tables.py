"""TableIndex keeps the contract of all indexes, with the tables in use and out of use."""

from __future__ import annotations

from typing import ClassVar

from rankhash.index import TableIndex
from rankhash.index._segments import TableStore

from .contract import IndexContract


class EagerStore(TableStore):
    tail = 64


class Eager(TableIndex):
    """Makes tables of few codes and tries them however long it takes."""

    _store_class: ClassVar = EagerStore

    def _budget(self, k, n_queries, chosen):
        return 1e15 if self._store.segments else 0.0

    def _radius_budget(self, n_queries):
        return 1e15 if self._store.segments else 0.0


class Hesitant(Eager):
    """Gives up in the middle of many queries."""

    def _budget(self, k, n_queries, chosen):
        return 2000.0 if self._store.segments else 0.0

    _radius_budget = Eager._radius_budget


class Single(Eager):
    def __init__(self, layout, *, n_tables=1):
        super().__init__(layout, n_tables=n_tables)


class TablesContract(IndexContract):
    def most_bytes(self, index):
        return (1 + index.n_tables) * (index.layout.bits / 8 + 4)


class TestTableIndex(TablesContract):
    make = TableIndex


class TestEager(TablesContract):
    make = Eager


class TestHesitant(TablesContract):
    make = Hesitant


class TestSingleTable(TablesContract):
    make = Single

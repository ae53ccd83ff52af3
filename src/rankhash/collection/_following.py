"""Reading a collection: one commit of the file together with the index of that very commit."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from itertools import islice
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..errors import StorageError
from ..index import TableIndex
from ..index._later import TableMaker
from . import _items
from ._items import Id
from ._lock import SharedLock
from ._memory import KINDS, Memory
from ._schema import State, read_state
from ._store import Store
from ._where import Answers

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

View = tuple[sqlite3.Connection, Memory, State]

MAX_NAMES = 1 << 20
"""Ids that are remembered by their number, since looking them up costs more than finding them."""


MAX_ATTEMPTS = 1000
"""Others may bring the index further while we look at a commit, but not for ever."""


class Following:
    """The index of a store, brought up to the newest commit whenever it is asked for."""

    def __init__(self, store: Store, kind: str) -> None:
        self._store = store
        self._kind = kind
        self._start()

    def _start(self) -> None:
        self._owner = os.getpid()
        self._lock = SharedLock()
        self._memory = Memory(self._store.layout, self._kind)
        n_least = KINDS[self._kind]
        self._tables = None if n_least is None else TableMaker(self._lock, n_least)
        self._n_searches = 0
        self._answers = Answers()
        self._names: dict[int, Id] = {}

    @contextlib.contextmanager
    def now(self) -> Iterator[View]:
        """The newest commit and its index, which nobody changes meanwhile."""
        if self._owner != os.getpid():
            self._start()
        with contextlib.ExitStack() as stack:
            for _ in range(MAX_ATTEMPTS):
                with contextlib.ExitStack() as attempt:
                    connection = attempt.enter_context(self._store.connections.reading())
                    state = read_state(connection)
                    self._follow(connection, state)
                    attempt.enter_context(self._lock.shared())
                    if self._memory.generation == state.generation:
                        stack.push(attempt.pop_all())
                        break
            else:
                raise StorageError(f"{self._store.connections.path} goes back in time; open it again")
            yield connection, self._memory, state

    def _follow(self, connection: sqlite3.Connection, state: State) -> None:
        if self._memory.generation >= state.generation:
            return
        with self._lock.alone():
            if self._memory.generation < state.generation:
                self._memory.follow(connection, state)

    def searched(self) -> None:
        """Note that there was a search: from the second one on tables are worth making."""
        self._n_searches += 1
        if self._n_searches > 1 and self._tables is not None and self._tables.wants(self._current()):
            self._tables.start(self._current)

    def _current(self) -> TableIndex:
        return cast(TableIndex, self._memory.index)

    def index_state(self) -> tuple[str, int]:
        """The kind of index that searches use now, and its bytes."""
        if self._owner != os.getpid():
            self._start()
        return self._kind_now(), self._memory.index.nbytes

    def _kind_now(self) -> str:
        index = self._memory.index
        if not isinstance(index, TableIndex):
            return "flat"
        if self._tables is not None and self._tables.at_work:
            return "flat, tables are being made" if index.n_tables == 0 else "tables, more are being made"
        return "flat" if index.n_tables == 0 else f"{index.n_tables} tables"

    def stop(self) -> None:
        """End what goes on beside searches."""
        if self._tables is not None:
            self._tables.stop()

    def bitmap(self, connection: sqlite3.Connection, memory: Memory, state: State, where: str) -> U8:
        """The items that pass a filter, as a bit for each of ``memory.index.ids``."""
        return self._answers.bitmap(connection, memory, where, state)

    def passing(self, connection: sqlite3.Connection, state: State, where: str) -> I64:
        """The numbers of the items that pass a filter, inside a transaction that is about to change them."""
        self._follow(connection, state)
        with self._lock.shared():
            ids = self._memory.index.ids
            bits = self._answers.bitmap(connection, self._memory, where, state)
        passing: I64 = ids[np.unpackbits(bits, count=len(ids), bitorder="little").astype(bool)]
        return passing

    def names(self, connection: sqlite3.Connection, state: State, numbers: I64) -> list[Id]:
        """The ids of numbers that are there."""
        wanted: list[int] = numbers.tolist()
        if state.n_rows == 0:
            return list(wanted)
        known = self._names
        try:
            return [known[number] for number in wanted]
        except KeyError:
            missing = {number for number in wanted if number not in known}
        rows = _items.read(connection, [*missing])
        self._remember({number: rows[number][0] for number in islice(missing, MAX_NAMES)})
        return [rows[number][0] if number in missing else known[number] for number in wanted]

    def _remember(self, names: dict[int, Id]) -> None:
        if len(self._names) + len(names) > MAX_NAMES:
            self._names = {}
        self._names.update(names)

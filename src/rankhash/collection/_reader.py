"""Reading a collection: brings the replica up to date and returns views of one commit."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator

import numpy as np

from .._types import I64
from ..errors import StorageError
from ..index import LookupIndex
from ..index.background import TableMaker
from ._database import Database
from ._encoding import Encoding
from ._interrupts import interruptible
from ._lock import SharedLock
from ._replica import KINDS, Replica
from ._schema import Counters, read_counters
from ._view import Caches, View

MAX_ATTEMPTS = 1000
"""Largest number of attempts to read a commit before another thread updates the replica past it"""


class Reader:
    """The replica of one handle, its caches, and the thread that builds its hash tables."""

    def __init__(self, database: Database, kind: str) -> None:
        self._database = database
        self._kind = kind
        self._start()

    def _start(self) -> None:
        self._owner = os.getpid()
        self._lock = SharedLock()
        self._replica = Replica(self._kind)
        n_least = KINDS[self._kind]
        self._tables = None if n_least is None else TableMaker(self._lock, n_least)
        self._n_searches = 0
        self._caches = Caches()

    @contextlib.contextmanager
    def view(self, deadline: float | None = None, *, warn: bool = True) -> Iterator[View]:
        """The newest commit; nothing changes it while the view is open.

        Reading is interrupted with DeadlineError at ``deadline`` (None: never), a time of ``time.monotonic``. Loading
        new commits into the replica is not interrupted, since all later reads need them. With ``warn`` (True), filters
        that test fields which no item has give a warning.
        """
        if self._owner != os.getpid():
            self._start()
        connections = self._database.connections
        with contextlib.ExitStack() as stack:
            for _ in range(MAX_ATTEMPTS):
                with contextlib.ExitStack() as attempt:
                    connection = attempt.enter_context(connections.reading())
                    counters = read_counters(connection)
                    encoding = self._database.encoding_of(connection, counters)
                    self._catch_up(connection, counters, encoding)
                    attempt.enter_context(self._lock.shared())
                    if self._replica.generation == counters.generation:
                        if deadline is not None:
                            attempt.enter_context(interruptible(connection, deadline))
                        stack.push(attempt.pop_all())
                        break
            else:
                raise StorageError(f"{connections.path} goes back in time; open it again")
            yield View(encoding, connection, self._replica, counters, self._caches, warn=warn)

    def _catch_up(self, connection: sqlite3.Connection, counters: Counters, encoding: Encoding) -> None:
        if self._replica.generation >= counters.generation:
            return
        with self._lock.alone():
            if self._replica.generation < counters.generation:
                self._replica.follow(connection, counters, encoding)

    def passing(self, connection: sqlite3.Connection, counters: Counters, where: str) -> I64:
        """The numbers of the items that match a filter, inside a transaction that is about to change them."""
        self._catch_up(connection, counters, self._database.encoding_of(connection, counters))
        with self._lock.shared():
            ids = self._replica.numbers
            found = self._caches.filters.result(connection, self._replica, where, counters)
        found.warn()
        passing: I64 = ids[np.unpackbits(found.bits, count=len(ids), bitorder="little").astype(bool)]
        return passing

    def count_search(self) -> None:
        """Count a search; from the second search on, hash tables are built."""
        self._n_searches += 1
        tables, index = self._tables, self._replica.index
        if self._n_searches > 1 and tables is not None and isinstance(index, LookupIndex) and tables.wants(index):
            tables.start(self._lookup_index)

    def _lookup_index(self) -> LookupIndex | None:
        index = self._replica.index
        return index if isinstance(index, LookupIndex) else None

    def describe_index(self) -> tuple[str, int]:
        """The kind of index that searches use, and the bytes that it takes in memory so far."""
        if self._owner != os.getpid():
            self._start()
        index = self._replica.index
        encoding = self._database.encoding
        if index is None and encoding.hasher is None:
            vectors = self._replica.vectors
            learned = encoding.learned if vectors is None else vectors.learned
            kind = "exact" if learned is None else f"{learned.coder.n_cells} cells"
        elif not isinstance(index, LookupIndex):
            kind = "flat"
        elif self._tables is not None and self._tables.at_work:
            kind = "flat, tables are being made" if index.n_tables == 0 else "tables, more are being made"
        else:
            kind = "flat" if index.n_tables == 0 else f"{index.n_tables} tables"
        return kind, self._replica.nbytes

    def stop(self) -> None:
        """Stop the thread that builds hash tables."""
        if self._tables is not None:
            self._tables.stop()

"""A look-up index whose hash tables are built by a background thread, while the index is searched and changed.

Codes without tables are scanned, so answers are the same at every moment.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import ClassVar, Protocol

from .. import _kernels
from ._segments import TableStore
from .lookup import LookupIndex


class Lock(Protocol):
    """A readers-writer lock: searches share it, changes hold it alone."""

    def shared(self) -> contextlib.AbstractContextManager[None]:
        """Hold the lock together with other readers."""

    def alone(self) -> contextlib.AbstractContextManager[None]:
        """Hold the lock exclusively."""


class BackgroundTableStore(TableStore):
    """A store that never builds tables in a call that changes it."""

    def _seal(self) -> None:
        pass


class BackgroundLookupIndex(LookupIndex):
    """A [`LookupIndex`][rankhash.LookupIndex] that scans until `TableMaker` has built its tables."""

    _store_class: ClassVar[type[BackgroundTableStore]] = BackgroundTableStore


class Background:
    """Runs at most one thread at a time, which polls ``is_over``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._mutex = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    @property
    def at_work(self) -> bool:
        """Whether the thread runs."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def run(self, work: Callable[[], None]) -> None:
        """Start the thread, unless it runs already."""
        with self._mutex:
            if not self.at_work and not self._stopped.is_set():
                self._thread = threading.Thread(target=work, name=self._name)
                self._thread.start()

    def stop(self) -> None:
        """Make ``is_over`` true, so that the thread ends."""
        self._stopped.set()

    def wait(self) -> None:
        """Wait for the end of the thread."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    @property
    def is_over(self) -> bool:
        """Whether the thread should end: it was stopped, or the program ends."""
        return self._stopped.is_set() or not threading.main_thread().is_alive()


class TableMaker:
    """Builds the tables of an index in a thread, one by one, whenever enough codes are without tables.

    The thread ends when there is nothing left to do, after `stop`, or when the program ends; always between two tables.
    """

    def __init__(self, lock: Lock, n_least: int) -> None:
        self._lock = lock
        self._n_least = n_least
        self._thread = Background("rankhash-tables")

    @property
    def at_work(self) -> bool:
        """Whether tables are being built."""
        return self._thread.at_work

    def wants(self, index: LookupIndex) -> bool:
        """Whether there are tables to build."""
        store = index._store
        return store.size >= self._n_least and store.size - store.n_sealed >= store.tail

    def start(self, current: Callable[[], LookupIndex | None]) -> None:
        """Start the thread, unless it runs already; ``current`` returns the index in use, or None."""
        self._thread.run(lambda: self._run(current))

    def stop(self) -> None:
        """End the thread after the table in progress."""
        self._thread.stop()

    def _run(self, current: Callable[[], LookupIndex | None]) -> None:
        n_threads = max(1, _kernels.default_threads() // 2)  # searches continue meanwhile
        while not self._thread.is_over:
            with self._lock.shared():
                index = current()
                plan = index._store.plan() if index is not None and self.wants(index) else None
            if index is None or plan is None:
                return
            made = plan.make(n_threads, lambda: self._thread.is_over)
            if made is None:
                return
            with self._lock.alone():
                if current() is index:
                    index._store.install(plan, *made)

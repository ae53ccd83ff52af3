"""An index whose tables are made later, by a thread of their own, while it is searched and changed.

Until they are there, and for codes that came since, it scans: answers are the same at every moment.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import ClassVar, Protocol

from .. import _kernels
from ._segments import TableStore
from .tables import TableIndex


class Lock(Protocol):
    """What searches share and changes have alone."""

    def shared(self) -> contextlib.AbstractContextManager[None]:
        """Held together with others who share."""

    def alone(self) -> contextlib.AbstractContextManager[None]:
        """Held by nobody else."""


class LaterStore(TableStore):
    """A store that makes no tables by itself."""

    def _seal(self) -> None:
        pass


class LaterIndex(TableIndex):
    """A :class:`TableIndex` that scans until :class:`TableMaker` has made its tables."""

    _store_class: ClassVar[type[LaterStore]] = LaterStore


class TableMaker:
    """Makes the tables of an index in a thread, one after another, whenever there are enough codes without.

    The thread ends when there is nothing left to do, with :meth:`stop`, or when the program ends: between two tables.
    """

    def __init__(self, lock: Lock, n_least: int) -> None:
        self._lock = lock
        self._n_least = n_least
        self._mutex = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    @property
    def at_work(self) -> bool:
        """Whether tables are being made."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def wants(self, index: TableIndex) -> bool:
        """Whether there are tables to be made."""
        store = index._store
        return store.size >= self._n_least and store.size - store.n_sealed >= store.tail

    def start(self, current: Callable[[], TableIndex]) -> None:
        """Begin, unless somebody is at it; ``current`` gives the index that is in use at any moment."""
        with self._mutex:
            if not self.at_work and not self._stopped.is_set():
                self._thread = threading.Thread(target=self._run, args=(current,), name="rankhash-tables")
                self._thread.start()

    def stop(self) -> None:
        """End as soon as the table at hand is done."""
        self._stopped.set()

    def _is_over(self) -> bool:
        return self._stopped.is_set() or not threading.main_thread().is_alive()

    def _run(self, current: Callable[[], TableIndex]) -> None:
        n_threads = max(1, _kernels.default_threads() // 2)  # searches go on beside it
        while not self._is_over():
            with self._lock.shared():
                index = current()
                plan = index._store.plan() if self.wants(index) else None
            if plan is None:
                return
            made = plan.make(n_threads, self._is_over)
            if made is None:
                return
            with self._lock.alone():
                if current() is index:
                    index._store.install(plan, *made)

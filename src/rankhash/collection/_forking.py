"""Forking while threads use SQLite.

SQLite has locks of its own that a child process would inherit locked, without the thread that would release them. A
fork therefore waits until no other thread is inside a transaction.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

MAX_SECONDS = 10.0
"""Longest time that a fork waits for transactions of other threads; afterwards it proceeds"""


class ForkGate:
    """Counts the threads that use SQLite, and keeps new ones out during a fork."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Reset to the calling thread alone, as in a new process."""
        self._changed = threading.Condition(threading.Lock())
        self._users: dict[int, int] = {}
        self._n_forking = 0

    @contextlib.contextmanager
    def using_sqlite(self) -> Iterator[None]:
        """Count the calling thread, also if it is counted already; waits for the end of a fork."""
        me = threading.get_ident()
        gate = self._changed
        with gate:
            if me not in self._users:
                gate.wait_for(lambda: not self._n_forking, MAX_SECONDS)
            self._users[me] = self._users.get(me, 0) + 1
        try:
            yield
        finally:
            if gate is self._changed:  # otherwise this is a child process, whose count was reset
                with gate:
                    self._users[me] -= 1
                    if not self._users[me]:
                        del self._users[me]
                    gate.notify_all()

    def before(self) -> None:
        """Wait until no other thread uses SQLite."""
        me = threading.get_ident()
        with self._changed:
            self._n_forking += 1
            self._changed.wait_for(lambda: not self._users.keys() - {me}, MAX_SECONDS)

    def after_in_parent(self) -> None:
        """Let other threads continue."""
        with self._changed:
            self._n_forking -= 1
            self._changed.notify_all()


FORKING = ForkGate()
os.register_at_fork(before=FORKING.before, after_in_parent=FORKING.after_in_parent, after_in_child=FORKING.reset)

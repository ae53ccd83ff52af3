"""A readers-writer lock that prefers writers."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator

from ..errors import StorageError


class SharedLock:
    """Searches hold it shared, updates of the index exclusively; a waiting writer goes before new readers.

    A thread that shares it may share it again, and gets an error instead of waiting for itself.
    """

    def __init__(self) -> None:
        self._state = threading.Condition()
        self._sharing: Counter[int] = Counter()
        """How often each thread shares it"""
        self._waiting = 0
        self._alone = False

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Hold it together with other readers."""
        thread = threading.get_ident()
        with self._state:
            if not self._sharing[thread]:
                self._state.wait_for(lambda: not self._alone and not self._waiting)
            self._sharing[thread] += 1
        try:
            yield
        finally:
            with self._state:
                self._sharing[thread] -= 1
                if not self._sharing[thread]:
                    del self._sharing[thread]
                self._state.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold it exclusively."""
        with self._state:
            if threading.get_ident() in self._sharing:
                raise StorageError("there are newer changes than an open snapshot of this thread; close it first")
            self._waiting += 1
            try:
                self._state.wait_for(lambda: not self._alone and not self._sharing)
                self._alone = True
            finally:
                self._waiting -= 1
        try:
            yield
        finally:
            with self._state:
                self._alone = False
                self._state.notify_all()

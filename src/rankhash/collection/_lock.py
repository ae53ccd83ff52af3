"""A readers-writer lock that prefers writers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class SharedLock:
    """Searches hold it shared, updates of the index exclusively; a waiting writer goes before new readers."""

    def __init__(self) -> None:
        self._state = threading.Condition()
        self._sharing = 0
        self._waiting = 0
        self._alone = False

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Hold it together with other readers."""
        with self._state:
            self._state.wait_for(lambda: not self._alone and not self._waiting)
            self._sharing += 1
        try:
            yield
        finally:
            with self._state:
                self._sharing -= 1
                self._state.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold it exclusively."""
        with self._state:
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

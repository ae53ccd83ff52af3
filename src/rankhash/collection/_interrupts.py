"""Reads that end at a deadline: native searches, and SQL, which also ends at Ctrl-C; SQLite itself notices neither."""

from __future__ import annotations

import contextlib
import math
import sqlite3
import threading
import time
from collections.abc import Iterator

from .. import _kernels
from ..errors import DeadlineError

STEPS = 1000
"""Instructions of SQLite's virtual machine between two checks: microseconds, or about a hundred large metadata"""


def too_late() -> DeadlineError:
    """The error of a read that was interrupted at its deadline."""
    return DeadlineError("reading took too long and was interrupted; ask for less, or allow more time")


@contextlib.contextmanager
def ending_at(deadline: float | None) -> Iterator[None]:
    """Interrupt native searches of this thread with DeadlineError at ``deadline`` (None: never)."""
    try:
        with _kernels.ending_at(math.inf if deadline is None else deadline):
            yield
    except DeadlineError:
        raise
    except TimeoutError:
        raise too_late() from None


@contextlib.contextmanager
def interruptible(connection: sqlite3.Connection, deadline: float | None = None) -> Iterator[None]:
    """Interrupt SQL of this connection once ``time.monotonic`` has passed ``deadline`` (None: never), and at signals.

    The block raises what a signal's handler raises, such as KeyboardInterrupt. Python handles signals in its main
    thread only: in other threads SQL without a deadline is not checked.
    """
    if deadline is None and threading.current_thread() is not threading.main_thread():
        yield
        return
    checks = _Checks(deadline)
    connection.set_progress_handler(checks.results().__next__, STEPS)
    try:
        yield
    except sqlite3.Error:
        if checks.raised is not None:
            raise checks.raised from None
        raise
    finally:
        connection.set_progress_handler(None, 0)


class _Checks:
    """Whether SQL should end, asked again and again."""

    def __init__(self, deadline: float | None) -> None:
        self._deadline = deadline
        self.raised: BaseException | None = None
        """What the handler of a signal raised"""

    def results(self) -> Iterator[bool]:
        """The result of each check.

        A function would not do: signals are handled when it is entered, before its ``try``, and what their handlers
        raise is lost in SQLite. A generator is entered inside of its ``try``.
        """
        while True:
            try:
                while True:  # in the try, since signals are also handled where a loop goes back
                    late = self._deadline is not None and time.monotonic() > self._deadline
                    yield late or self.raised is not None
            except GeneratorExit:
                return
            except BaseException as error:
                self.raised = error

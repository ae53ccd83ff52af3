"""A progress bar for fits that take a while."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds before a bar is shown."""


class FitProgress:
    """Counts the functions that are learned; shows a bar after a second, on a terminal only."""

    def __init__(self, total: int, title: str, *, shown: bool) -> None:
        self._total, self._title = total, title
        self._shown = shown and sys.stdout.isatty()
        self._done = 0
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> FitProgress:
        self._start = time.monotonic()
        return self

    def advance(self) -> None:
        """One more function is learned."""
        self._done += 1
        if self._bar is None and self._shown and time.monotonic() - self._start > PATIENCE:
            self._bar = Progress(transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=self._total)
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

"""A progress bar for fits that take longer than a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.progress import Progress, TaskID

DELAY = 1.0
"""Seconds before the bar is shown."""


class FitProgress:
    """Counts steps; shows a bar after a second, on a terminal only."""

    def __init__(self, total: int, title: str, *, shown: bool) -> None:
        self._total, self._title = total, title
        self._shown = shown and sys.stdout.isatty()
        self._done = 0
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> FitProgress:
        self._start = time.monotonic()
        return self

    def advance(self, value: float | None = None) -> None:
        """Count one more step; ``value``, None by default, is the value that the step reached."""
        self._done += 1
        if self._bar is None and self._shown and time.monotonic() - self._start > DELAY:
            self._bar = Progress(transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=self._total)
        if self._bar is not None:
            title = self._title if value is None else f"{self._title}, objective {value:.3f}"
            self._bar.update(self._task, completed=self._done, description=title)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

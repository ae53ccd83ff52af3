"""Progress of a long command with the remaining time: a bar on a terminal, elsewhere one line every 30 seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

EVERY = 30.0
"""Seconds between two lines of progress without a terminal."""

T = TypeVar("T")


def with_progress(items: Iterable[T], total: int, title: str) -> Iterator[T]:
    """The items; their progress is shown on the standard error stream.

    >>> list(with_progress("ab", 2, "letters"))
    ['a', 'b']
    """
    shown = _on_terminal if sys.stderr.isatty() else _in_lines
    yield from shown(items, total, title)


def _on_terminal(items: Iterable[T], total: int, title: str) -> Iterator[T]:
    from rich.console import Console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    remaining = TimeRemainingColumn(compact=True)
    with Progress(*columns, remaining, TextColumn("left"), console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(items, total=total, description=title)


def _in_lines(items: Iterable[T], total: int, title: str) -> Iterator[T]:
    start = last = time.monotonic()
    for done, item in enumerate(items, 1):
        yield item
        now = time.monotonic()
        if now - last > EVERY:
            last = now
            minutes = round((now - start) / done * (total - done) / 60)
            left = f"about {minutes} min" if minutes else "less than a minute"
            click.echo(f"{title}: {done} of {total}, {left} left", err=True)

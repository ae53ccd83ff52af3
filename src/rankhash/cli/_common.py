"""What the verbs share: options, progress bars, and output for people and for programs."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import click

from ..collection import Collection
from ..hashers import Hasher, load_hasher

F = TypeVar("F", bound=Callable[..., Any])

SQLITE = b"SQLite format 3\0"

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program to read.")
key_option = click.option(
    "--key", metavar="NAME", help="Which array of an .npz, dataset of an HDF5 file or list column of a Parquet file."
)
timeout_option = click.option(
    "--timeout", type=float, default=30.0, show_default=True, help="Seconds to wait for somebody else who is writing."
)
existing = click.Path(exists=True, dir_okay=False)


def examples(*lines: str) -> str:
    """The end of a help text."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def metadata_option(command: F) -> F:
    """``--metadata NAME``, as often as wanted."""
    return click.option(
        "--metadata",
        multiple=True,
        metavar="COLUMN",
        help="A column of a CSV or Parquet file that describes the items; may be repeated.",
    )(command)


def show(facts: dict[str, Any], *, as_json: bool) -> None:
    """Print facts, one a line or as one JSON object."""
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    width = max(map(len, facts), default=0)
    for name, value in facts.items():
        shown = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
        click.echo(f"{name:<{width}}  {'-' if shown is None or shown == '' else shown}")


@contextlib.contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on the terminal that is told how far the work is; elsewhere nothing is printed."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def is_collection(path: str) -> bool:
    """Whether a file looks like that of a collection."""
    with open(path, "rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def hasher_of(path: str) -> Hasher:
    """The hasher of a hasher file or of a collection."""
    if not is_collection(path):
        return load_hasher(path)
    with Collection.open(path) as collection:
        return collection.hasher


def parse_ids(names: Sequence[str], *, text: bool) -> list[int | str]:
    """Ids from the command line: integers if they are written as such, unless all of them are text."""
    return [
        int(name) if not text and name.lstrip("-").isdecimal() and str(int(name)) == name else name for name in names
    ]

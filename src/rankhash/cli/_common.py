"""Shared parts of the commands: options, progress bars, labels, and output as text or JSON."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
import numpy as np

from .._types import Array
from ..errors import InvalidInputError
from ..readers import read_arrays

if TYPE_CHECKING:
    from ..hashers import Hasher

F = TypeVar("F", bound=Callable[..., Any])

SQLITE = b"SQLite format 3\0"

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
view_option = click.option(
    "--view", metavar="NAME", help="Name of the vectors' view, for a hasher of several views. By default the first."
)
key_option = click.option(
    "--key",
    metavar="NAME",
    help="Name of the array (.npz), dataset (HDF5) or list column (Parquet) that holds the vectors; needed if the file "
    "has more than one.",
)
timeout_option = click.option(
    "--timeout", type=float, default=30.0, show_default=True, help="Seconds to wait for another writer to finish."
)
existing = click.Path(exists=True, dir_okay=False)


def port_option(purpose: str) -> Callable[[F], F]:
    """The option ``--port``; ``purpose`` begins its help text."""
    kind = click.IntRange(0, 65535)
    text = f"Port {purpose}; 0 chooses a free one."
    return click.option("--port", type=kind, default=8000, show_default=True, help=text)


def examples(*lines: str) -> str:
    """The examples at the end of a help text."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def metadata_option(command: F) -> F:
    """The repeatable option ``--metadata COLUMN``."""
    return click.option(
        "--metadata",
        multiple=True,
        metavar="COLUMN",
        help="Column of a CSV or Parquet file to store as metadata of the items; may be repeated.",
    )(command)


def show(facts: dict[str, Any], *, as_json: bool) -> None:
    """Print facts, one per line without those that are None, or all as one JSON object."""
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    known = {name: value for name, value in facts.items() if value is not None}
    width = max(map(len, known), default=0)
    for name, value in known.items():
        parts = [f"{key} {part}" for key, part in value.items()] if isinstance(value, dict) else value
        shown = ", ".join(map(str, parts)) if isinstance(parts, (list, tuple)) else value
        click.echo(f"{name:<{width}}  {'-' if shown == '' else shown}")


@contextlib.contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function that sets a progress bar to a number of finished steps; does nothing without a terminal."""
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
    """Whether a file begins like the SQLite file of a collection."""
    with open(path, "rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def hasher_of(path: str) -> Hasher:
    """The hasher in a hasher file or in a collection."""
    from ..collection import Collection
    from ..hashers import load_hasher

    if not is_collection(path):
        return load_hasher(path)
    with Collection.open(path) as collection:
        if collection.hasher is None:
            raise click.UsageError(f"{path} has no hasher; it compares vectors themselves.")
        return collection.hasher


def view_of(hasher: Hasher, view: str | None) -> Hasher:
    """The hasher of one view, by its name; the hasher itself if no view is named."""
    from ..hashers import ViewHasher

    if view is None:
        return hasher
    if not isinstance(hasher, ViewHasher):
        raise click.UsageError(f"{type(hasher).__name__} has no views; leave out --view.")
    return hasher.view_hasher(view)


def views_of(hasher: Hasher | None) -> dict[str, Any]:
    """The row ``views`` of a hasher of several views: names with numbers of features; nothing for other hashers."""
    if hasher is None:
        return {}
    from ..hashers import ViewHasher

    if not isinstance(hasher, ViewHasher):
        return {}
    return {"views": dict(zip(hasher.views_, hasher.n_features_, strict=True))}


def parse_ids(names: Sequence[str], *, text: bool) -> list[int | str]:
    """Ids from the command line: integers where they are written as such, unless ``text`` is True."""
    return [
        int(name) if not text and name.lstrip("-").isdecimal() and str(int(name)) == name else name for name in names
    ]


def read_labels(path: str) -> Array:
    """The labels in a ``.npy`` file, or in a text file with one label per line."""
    if path.endswith(".npy"):
        return np.array(read_arrays(path)["X"])
    try:
        with open(path, encoding="utf-8") as file:
            return np.array([line.strip() for line in file])
    except ValueError as error:
        raise InvalidInputError(f"{path} does not hold labels: {error}") from None

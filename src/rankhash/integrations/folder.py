"""A folder of NumPy, Parquet or other files of vectors as one collection."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ..collection import Collection
from ..errors import InvalidInputError
from ..readers import FORMATS, Block, open_vectors
from ..readers.parquet import parquet_batches
from ._documents import PathLike
from ._importing import collected

__all__ = ["from_folder"]

N_ROWS = 16_384
"""Rows of metadata that are read at once"""


def from_folder(
    folder: PathLike,
    path: PathLike | None = None,
    *,
    metric: str = "cosine",
    key: str | None = None,
    metadata: PathLike | None = None,
) -> Collection:
    """A collection of the vectors of all files of a folder, in the order of their names.

    Parameters
    ----------
    folder
        The folder; files whose suffix is not one of `rankhash.readers.FORMATS` are ignored.
    path
        The file of the collection, which must not exist; default None: the collection stays in memory.
    metric
        ``"cosine"`` (default), ``"euclidean"`` or ``"dot"``.
    key
        As in `rankhash.readers.open_vectors`; default None.
    metadata
        A folder of Parquet files, as many as there are files of vectors and in the same order, whose rows are the
        metadata of the vectors; default None: the metadata in the files of vectors.
    """
    files = sorted(file for file in Path(folder).iterdir() if file.suffix.lower() in FORMATS)
    if not files:
        raise InvalidInputError(f"{folder} holds no file that ends with one of {', '.join(FORMATS)}")
    if metadata is None:
        return collected(chain.from_iterable(open_vectors(file, key) for file in files), path, metric)
    others = sorted(Path(metadata).glob("*.parquet"))
    if len(others) != len(files):
        raise InvalidInputError(f"{folder} has {len(files)} files of vectors, {metadata} {len(others)} of metadata")
    pairs = zip(files, others, strict=True)
    return collected(chain.from_iterable(_described(file, key, other) for file, other in pairs), path, metric)


def _described(file: Path, key: str | None, other: Path) -> Iterator[Block]:
    """The blocks of a file of vectors, with metadata from the rows of another file."""
    waiting = _rows(other)
    for block in open_vectors(file, key):
        fields: list[dict[str, Any] | None] = [*islice(waiting, len(block.vectors))]
        if len(fields) < len(block.vectors):
            raise InvalidInputError(f"{other} has fewer rows than {file}")
        yield Block(block.vectors, block.ids, fields)
    if next(waiting, None) is not None:
        raise InvalidInputError(f"{other} has more rows than {file}")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for columns in parquet_batches(path, N_ROWS):
        yield from (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

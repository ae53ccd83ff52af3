"""Files next to a file of vectors: one id per line, and one row of metadata per vector."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ._base import Block, VectorFile
from .foreign import decoding
from .lines import MAX_LINE, plain_cell, plain_id
from .parquet import open_parquet, readable_columns, rows_at_once

Id = int | str
Fields = dict[str, Any]

MAX_ROWS = 16_384
"""Rows of a Parquet file that are read at once"""


def with_sidecars(
    vectors: VectorFile, ids: str | None = None, metadata: str | None = None, id_column: str | None = None
) -> Iterator[Block]:
    """The blocks of a file of vectors, with ids and metadata from separate files.

    Parameters
    ----------
    vectors
        The file of vectors.
    ids
        A text file with one id per line; default None. An id that is written as an integer is one.
    metadata
        A ``.csv`` file whose first line names the columns, a ``.jsonl`` file of objects, or a ``.parquet`` file; one
        row per vector; default None.
    id_column
        The column that holds the ids: of ``metadata``, or without that file a field of the vectors' own metadata;
        default None.
    """
    if ids is not None and id_column is not None:
        raise InvalidInputError("ids come from a file of ids or from a column of the metadata, not from both")
    names = None if ids is None else read_ids(ids)
    rows = None if metadata is None else read_metadata(metadata, id_column)
    for block in vectors:
        n = len(block.vectors)
        given = block.ids if names is None or ids is None else _take(names, n, ids)
        fields: list[Fields | None] | None = block.metadata
        if rows is not None and metadata is not None:
            fields = _take(rows, n, metadata)
        if id_column is not None:
            path = vectors.path if metadata is None else metadata
            given = [_id_of(row or {}, id_column, path) for row in fields or [None] * n]
            fields = [_without(row, id_column) for row in fields or []]
        yield Block(block.vectors, given, fields)
    for file, left in ((ids, names), (metadata, rows)):
        if left is not None and next(left, None) is not None:
            raise InvalidInputError(f"{file} has more rows than there are vectors")


def read_ids(path: str) -> Iterator[Id]:
    """The ids of a text file, one per line."""
    for number, line in enumerate(_lines(path), 1):
        name = line.rstrip("\r\n")
        if not name:
            raise InvalidInputError(f"{path} has no id in line {number}")
        found = plain_id(name)
        yield name if found is None else found


def read_metadata(path: str, id_column: str | None = None) -> Iterator[Fields]:
    """The rows of a ``.csv``, ``.jsonl`` or ``.parquet`` file as dicts, without empty cells, nulls and bytes of tables.

    Cells of ``id_column`` (default None) in a CSV file are integers or text, whatever they look like.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".jsonl", ".parquet"):
        raise InvalidInputError(f"{path} must be metadata in a .csv, a .jsonl or a .parquet file")
    if suffix == ".jsonl":
        return _json_rows(path)
    return (_csv_rows if suffix == ".csv" else _parquet_rows)(path, id_column)


def _csv_rows(path: str, id_column: str | None) -> Iterator[Fields]:
    try:
        rows = csv.reader(_lines(path), strict=True)
        names = next(rows, [])
        if not names or len({*names}) < len(names):
            raise InvalidInputError(f"{path} must name its columns, each once, in the first line")
        _check_column(path, names, id_column)
        read = [plain_id if name == id_column else plain_cell for name in names]
        for cells in rows:
            if not cells:
                continue
            if len(cells) != len(names):
                line = rows.line_num
                raise InvalidInputError(f"{path} has {len(cells)} cells in line {line}, but names {len(names)} columns")
            yield {name: plain(cell) for name, plain, cell in zip(names, read, cells, strict=True) if cell}
    except csv.Error as error:
        raise InvalidInputError(f"{path} is not readable CSV: {error}") from None


def _parquet_rows(path: str, id_column: str | None) -> Iterator[Fields]:
    with decoding(path, "Parquet file"), open_parquet(path) as file:
        names = file.schema_arrow.names
        if len({*names}) < len(names):
            raise InvalidInputError(f"{path} has columns of the same name")
        _check_column(path, names, id_column)
        shown = readable_columns(file.schema_arrow)
        for batch in file.iter_batches(min(MAX_ROWS, rows_at_once(path)), columns=shown):
            for row in batch.to_pylist():
                yield {name: value for name, value in row.items() if value is not None}


def _check_column(path: str, names: list[str], id_column: str | None) -> None:
    if id_column is not None and id_column not in names:
        raise InvalidInputError(f"{path} has no column {id_column!r}; it has {_listed(names)}")


def _json_rows(path: str) -> Iterator[Fields]:
    for number, line in enumerate(_lines(path), 1):
        if line.isspace():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{path} is not JSON in line {number}: {error}") from None
        if not isinstance(row, dict):
            raise InvalidInputError(f"{path} has no object in line {number}")
        yield row


def _lines(path: str) -> Iterator[str]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            while line := file.readline(MAX_LINE):
                if len(line) == MAX_LINE:
                    raise InvalidInputError(f"{path} has a line of more than {MAX_LINE} characters")
                yield line
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} is not UTF-8 text: {error.reason}") from None


def _take(rows: Iterator[Any], n: int, path: str) -> list[Any]:
    found = list(itertools.islice(rows, n))
    if len(found) < n:
        raise InvalidInputError(f"{path} has fewer rows than there are vectors")
    return found


def _without(row: Fields | None, column: str) -> Fields | None:
    """The other fields; None if there are none."""
    return {name: value for name, value in (row or {}).items() if name != column} or None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)[:200]


def _id_of(row: Fields, column: str, path: str) -> Id:
    value: Any = row.get(column)
    if column not in row and row:
        raise InvalidInputError(f"{path} has a row without {column!r}, which is to be its id; it has {_listed(row)}")
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise InvalidInputError(f"{path} needs an id, an integer or text, in the column {column!r}, got {value!r:.40}")
    return value

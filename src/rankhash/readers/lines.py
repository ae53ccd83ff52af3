"""Text files with one item per line: CSV and JSON lines. JSON lines can also come from standard input."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

import numpy as np

from .._types import F32
from ..errors import InvalidInputError
from ._base import MAX_FEATURES, Block, VectorFile

MAX_LINE = 32 << 20
"""Largest number of characters per line; longer lines are refused, so that a damaged file cannot fill the memory."""

Row = tuple[list[float], "int | str | None", "dict[str, Any] | None"]


class LinesFile(VectorFile):
    """Base of the line formats: collects parsed rows into blocks."""

    def _inspect(self) -> None:
        self._rows: Iterator[Row] | None = self._open_rows()
        first = next(self._rows, None)
        if first is None:
            raise self._wrong("holds no vectors")
        self.n_features = len(first[0])
        if not 1 <= self.n_features <= MAX_FEATURES:
            raise self._wrong(f"has vectors of {self.n_features} numbers; 1 to {MAX_FEATURES} can be read")
        self._rows = itertools.chain([first], self._rows)

    def _open_rows(self) -> Iterator[Row]:
        raise NotImplementedError

    def _read(self, step: int) -> Iterator[Block]:
        if self.path == "-" and self._rows is None:
            raise self._wrong("can be read only once")
        rows, self._rows = self._rows or self._open_rows(), None
        while some := list(itertools.islice(rows, step)):
            yield self._block(some)

    def _block(self, rows: list[Row]) -> Block:
        vectors, ids, metadata = zip(*rows, strict=True)
        named = [name for name in ids if name is not None]
        if named and len(named) < len(ids):
            raise self._wrong("names some items by an id but not all of them")
        described = any(fields is not None for fields in metadata)
        return Block(as_float32(vectors, self.path), named or None, list(metadata) if described else None)

    def _lines(self, file: TextIO) -> Iterator[str]:
        try:
            while line := file.readline(MAX_LINE):
                if len(line) == MAX_LINE:
                    raise self._wrong(f"has a line of more than {MAX_LINE} characters")
                yield line
        except UnicodeDecodeError as error:
            raise self._wrong(f"is not UTF-8 text: {error.reason}") from None

    def _check_width(self, numbers: list[float], line: int) -> None:
        if self.n_features and len(numbers) != self.n_features:
            raise self._wrong(f"has {len(numbers)} numbers in line {line}, but {self.n_features} in the first")


class JsonLinesFile(LinesFile):
    """JSON lines: an array of numbers per line, or an object with ``vector``, optionally ``id`` and ``metadata``."""

    def _open_rows(self) -> Iterator[Row]:
        self._no_metadata()
        if self.path == "-":
            yield from self._parse(sys.stdin)
            return
        with open(self.path, encoding="utf-8") as file:
            yield from self._parse(file)

    def _parse(self, file: TextIO) -> Iterator[Row]:
        for number, line in enumerate(self._lines(file), 1):
            if not line.isspace():
                yield self._row(line, number)

    def _row(self, line: str, number: int) -> Row:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"is not JSON in line {number}: {error}") from None
        item = value if isinstance(value, dict) else {"vector": value}
        unknown = item.keys() - {"vector", "id", "metadata", "code", "hasher"}
        if unknown:
            raise self._wrong(
                f"has the unknown key {min(unknown)!r} in line {number}; use id, vector, and metadata for the rest"
            )
        vector = item.get("vector")
        if not isinstance(vector, list) or not {*map(type, vector)} <= {int, float}:
            raise self._wrong(f'needs an array of numbers, alone or as "vector", in line {number}')
        self._check_width(vector, number)
        return vector, self._id(item.get("id"), number), self._described(item.get("metadata"), number)

    def _id(self, value: Any, number: int) -> int | str | None:
        if value is None or type(value) in (int, str):
            return value  # type: ignore[no-any-return]
        raise self._wrong(f"has an id in line {number} that is neither an integer nor text")

    def _described(self, value: Any, number: int) -> dict[str, Any] | None:
        if value is None or isinstance(value, dict):
            return value
        raise self._wrong(f"has metadata in line {number} that are not an object")


class CsvFile(LinesFile):
    """Comma-separated numbers; an optional first line names the columns, one of which may be ``id``."""

    def _open_rows(self) -> Iterator[Row]:
        with open(self.path, encoding="utf-8-sig", newline="") as file:
            try:
                yield from self._parse(file)
            except csv.Error as error:
                raise self._wrong(f"is not readable CSV: {error}") from None

    def _parse(self, file: TextIO) -> Iterator[Row]:
        rows = csv.reader(self._lines(file), strict=True)
        first = next(rows, [])
        names = first if any(_number(cell) is None for cell in first) else []
        missing = self.metadata - {*names}
        if missing:
            raise self._wrong(f"has no column {min(missing)!r}; its first line must name the columns")
        for cells in rows if names else itertools.chain([first], rows):
            if cells:
                yield self._row(cells, names, rows.line_num)

    def _row(self, cells: list[str], names: list[str], line: int) -> Row:
        if names and len(cells) != len(names):
            raise self._wrong(f"has {len(cells)} cells in line {line}, but names {len(names)} columns")
        apart = {**dict(zip(names, cells, strict=False))}
        numbers = [self._cell(cells[i], line) for i in self._columns(names, len(cells))]
        self._check_width(numbers, line)
        fields = {name: plain_cell(apart[name]) for name in sorted(self.metadata)}
        return numbers, plain_id(apart.get("id")), fields or None

    def _columns(self, names: list[str], n_cells: int) -> list[int]:
        return [i for i in range(n_cells) if not names or (names[i] != "id" and names[i] not in self.metadata)]

    def _cell(self, cell: str, line: int) -> float:
        number = _number(cell)
        if number is None:
            raise self._wrong(
                f"has {cell[:40]!r} in line {line}, where a number belongs; name columns of text as metadata"
            )
        return number


def as_float32(rows: Sequence[list[float]], path: str) -> F32:
    """Rows of Python numbers of a file as an array; numbers beyond float32 become infinite."""
    try:
        with np.errstate(over="ignore"):
            return np.array(rows, np.float32)
    except OverflowError:  # an integer beyond every float
        raise InvalidInputError(f"{path} has an integer that is too large for a vector") from None


TRUTH = {word: value for value in (True, False) for word in (str(value), str(value).lower(), str(value).upper())}
"""Truth values in CSV files"""


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def plain_cell(cell: str) -> Any:
    """A cell as an integer, a finite float, true, false or text, as JSON represents it.

    >>> [plain_cell(cell) for cell in ("1", "2.5", "True", "false", "yes", "")]
    [1, 2.5, True, False, 'yes', '']
    """
    if cell in TRUTH:
        return TRUTH[cell]
    number = _number(cell)
    if number is None or not np.isfinite(number):
        return cell
    identity = plain_id(cell)
    return identity if isinstance(identity, int) else number


def plain_id(cell: str | None) -> int | str | None:
    """An integer if the cell is written as one, else its text."""
    if cell is not None and len(cell) < 20 and cell.lstrip("-").isdecimal() and str(int(cell)) == cell:
        return int(cell)
    return cell

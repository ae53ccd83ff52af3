"""Filters at work: the tree to SQL with parameters, fields with an index of their own, and answers that are kept.

No text of a filter gets into SQL: fields are handed over as JSON paths, values as parameters. Every test is true or
false, never unknown: a test of a missing field, or of a value of another type, is false.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileFormatError
from ._memory import Memory
from ._schema import State, has_types
from .filters import And, Between, Compare, Exists, Filter, In, Not, Or, Value, parse

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

Sql = tuple[str, list[Any]]

KINDS = {"null": 0, "false": 1, "true": 1, "integer": 2, "real": 2, "text": 3, "array": 4, "object": 4}
_KIND = "CASE json_type(metadata, ?) " + " ".join(f"WHEN '{name}' THEN {kind}" for name, kind in KINDS.items()) + " END"
_SIGNS = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

MAX_KEPT_BYTES = 128 << 20


# -- fields with an index ------------------------------------------------------------------------------------------


def read_fields(connection: sqlite3.Connection) -> dict[str, int]:
    """The fields that have an index, by their path."""
    rows = connection.execute("SELECT path, field FROM fields").fetchall()
    if not all(has_types(row, str, int) for row in rows):
        raise FileFormatError("is damaged: its indexed fields cannot be read")
    return dict(rows)


def field_name(path: str) -> str:
    """How a filter names the field of a path."""
    names = path.removeprefix('$."').removesuffix('"').split('"."')
    return ".".join(name if name.isidentifier() else f"`{name}`" for name in names)


def add_field(connection: sqlite3.Connection, path: str) -> None:
    """Make an index of a field; nothing happens if there is one."""
    if path not in read_fields(connection):
        connection.execute("INSERT INTO fields (path) VALUES (?)", (path,))
        _fill(connection, path, read_fields(connection)[path], 0)


def drop_field(connection: sqlite3.Connection, path: str) -> None:
    """Remove the index of a field; nothing happens if there is none."""
    field = read_fields(connection).get(path)
    connection.execute("DELETE FROM facets WHERE field = ?", (field,))
    connection.execute("DELETE FROM fields WHERE field = ?", (field,))


def fill_fields(connection: sqlite3.Connection, first: int) -> None:
    """Take the items from the number ``first`` on into every index."""
    for path, field in read_fields(connection).items():
        _fill(connection, path, field, first)


_FACETS = f"""SELECT ? AS field, {_KIND} AS kind,
    CASE WHEN json_type(metadata, ?) IN ('null', 'array', 'object') THEN '' ELSE json_extract(metadata, ?) END AS value,
    number FROM items WHERE number >= ? AND json_type(metadata, ?) IS NOT NULL"""


def _fill(connection: sqlite3.Connection, path: str, field: int, first: int) -> None:
    values = (field, path, path, path, first, path)
    connection.execute(f"INSERT INTO facets (field, kind, value, number) {_FACETS}", values)


def count_missing(connection: sqlite3.Connection, path: str, field: int) -> int:
    """How many entries the index of a field lacks."""
    values = (field, path, path, path, 0, path)
    query = f"SELECT count(*) FROM ({_FACETS} EXCEPT SELECT field, kind, value, number FROM facets)"
    return int(connection.execute(query, values).fetchone()[0])


# -- SQL -----------------------------------------------------------------------------------------------------------


def to_sql(tree: Filter, fields: dict[str, int]) -> Sql:
    """A condition on rows of ``items`` that is 1 or 0, and its parameters."""
    if isinstance(tree, Not):
        condition, parameters = to_sql(tree.part, fields)
        return f"NOT {condition}", parameters
    if isinstance(tree, (And, Or)):
        parts = [to_sql(part, fields) for part in tree.parts]
        return _joined(parts, "AND" if isinstance(tree, And) else "OR")
    field = fields.get(tree.path)
    return _test(tree) if field is None else _facet(tree, field)


def _joined(parts: list[Sql], word: str) -> Sql:
    """A balanced tree, since SQLite limits the depth."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    (left, first), (right, second) = _joined(parts[:middle], word), _joined(parts[middle:], word)
    return f"({left} {word} {right})", first + second


def _test(tree: Compare | In | Between | Exists) -> Sql:
    """A test of the metadata themselves."""
    if isinstance(tree, Exists):
        return "(json_type(metadata, ?) IS NOT NULL)", [tree.path]
    kinds = [(kind, *_value_test(tree, kind)) for kind in sorted(_kinds_of(tree))]
    parts = []
    for kind, condition, parameters in kinds:
        names = ", ".join(f"'{name}'" for name, number in KINDS.items() if number == kind)
        known = f"ifnull(json_type(metadata, ?), '') IN ({names})"
        if condition:
            condition = f" AND json_extract(metadata, ?) {condition}"
            parameters = [tree.path, *parameters]
        parts.append((f"({known}{condition})", [tree.path, *parameters]))
    return _joined(parts, "OR")


def _facet(tree: Compare | In | Between | Exists, field: int) -> Sql:
    """A test of a field that has an index."""
    if isinstance(tree, Exists):
        return "(number IN (SELECT number FROM facets WHERE field = ?))", [field]
    parts = []
    for kind in sorted(_kinds_of(tree)):
        condition, parameters = _value_test(tree, kind)
        condition = condition and f" AND value {condition}"
        found = f"SELECT number FROM facets WHERE field = ? AND kind = ?{condition}"
        parts.append((f"(number IN ({found}))", [field, kind, *parameters]))
    return _joined(parts, "OR")


def _kinds_of(tree: Compare | In | Between) -> set[int]:
    values = tree.values if isinstance(tree, In) else [tree.low if isinstance(tree, Between) else tree.value]
    return {_kind_of(value) for value in values}


def _kind_of(value: Value) -> int:
    if value is None:
        return KINDS["null"]
    if isinstance(value, bool):
        return KINDS["true"]
    return KINDS["text"] if isinstance(value, str) else KINDS["real"]


def _value_test(tree: Compare | In | Between, kind: int) -> Sql:
    """What a value of that kind must be; nothing for null, which has one value only."""
    if kind == KINDS["null"]:
        return "", []
    if isinstance(tree, Compare):
        return f"{_SIGNS[tree.operator]} ?", [tree.value]
    if isinstance(tree, Between):
        return "BETWEEN ? AND ?", [tree.low, tree.high]
    values = [int(value) if isinstance(value, bool) else value for value in tree.values if _kind_of(value) == kind]
    return "IN (SELECT value FROM json_each(?))", [json.dumps(values)]


# -- answers -------------------------------------------------------------------------------------------------------


@dataclass
class _Answer:
    """Which numbers pass: those of ``numbers``, or all but those."""

    all_but: bool
    numbers: I64
    upto: int
    """Numbers below it were looked at."""
    generation: int
    """What ``bits`` was made for"""
    bits: U8

    @property
    def nbytes(self) -> int:
        return self.numbers.nbytes + self.bits.nbytes


class Answers:
    """The answers of the filters that were asked last; new items are looked at when they are asked again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Answer] = OrderedDict()
        self._changing = threading.Lock()
        self._counted = False

    def bitmap(self, connection: sqlite3.Connection, memory: Memory, expression: str, state: State) -> U8:
        """The items that pass, as a bit for each of ``memory.index.ids``."""
        tree = parse(expression)
        with self._changing:
            answer = self._kept.get(expression)
            if answer is None or answer.generation != memory.generation:
                self._count_rows(connection, state)
                answer = _brought_up(answer, connection, memory, tree, state.next_number)
                self._keep(expression, answer)
            self._kept.move_to_end(expression)
            return answer.bits

    def _count_rows(self, connection: sqlite3.Connection, state: State) -> None:
        """Make sure once that no row was lost: a filter would pass over it in silence."""
        if not self._counted:
            n_rows = connection.execute("SELECT count(*) FROM items NOT INDEXED").fetchone()[0]
            if n_rows != state.n_rows:
                raise FileFormatError(f"is damaged: {n_rows} rows of items are left of {state.n_rows}")
            self._counted = True

    def _keep(self, expression: str, answer: _Answer) -> None:
        self._kept[expression] = answer
        while len(self._kept) > 1 and sum(kept.nbytes for kept in self._kept.values()) > MAX_KEPT_BYTES:
            self._kept.popitem(last=False)


def _brought_up(
    answer: _Answer | None, connection: sqlite3.Connection, memory: Memory, tree: Filter, next_number: int
) -> _Answer:
    condition, parameters = to_sql(tree, read_fields(connection))
    if answer is None:
        nothing = f"SELECT {condition} FROM (SELECT NULL AS metadata, -1 AS number)"
        all_but, numbers, upto = bool(connection.execute(nothing, parameters).fetchone()[0]), np.empty(0, np.int64), 0
    else:
        all_but, numbers, upto = answer.all_but, answer.numbers, answer.upto
    query = f"SELECT number FROM items WHERE {'NOT ' if all_but else ''}{condition} AND number >= ?"
    rows = connection.execute(query, [*parameters, upto])
    more = np.sort(np.fromiter((number for (number,) in rows), np.int64))
    numbers = np.concatenate([numbers, more])
    return _Answer(all_but, numbers, next_number, memory.generation, _bits(memory.index.ids, numbers, all_but))


def _bits(ids: I64, numbers: I64, all_but: bool) -> U8:
    passing = np.full(len(ids), all_but)
    if len(ids):
        places = np.minimum(np.searchsorted(ids, numbers), len(ids) - 1)
        passing[places[ids[places] == numbers]] = not all_but
    return np.packbits(passing, bitorder="little")

"""A filter's tree as an SQL condition with parameters.

No text of a filter becomes SQL: fields are passed as JSON paths, values as parameters. Every test is true or false,
never unknown: a test of a missing field, or of a value of another type, is false.
"""

from __future__ import annotations

import json
from typing import Any

from ._filter_tree import And, Between, Compare, Contains, Exists, Filter, In, Like, Not, Or, Value

Sql = tuple[str, list[Any]]

KINDS = {"null": 0, "false": 1, "true": 1, "integer": 2, "real": 2, "text": 3, "array": 4, "object": 4}
"""JSON types as SQLite names them; values compare only with values of the same kind"""
_SIGNS = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def to_sql(tree: Filter, fields: dict[str, int]) -> Sql:
    """A condition on rows of ``items`` that is 1 or 0, and its parameters."""
    if isinstance(tree, Not):
        condition, parameters = to_sql(tree.part, fields)
        return f"NOT {condition}", parameters
    if isinstance(tree, (And, Or)):
        parts = [to_sql(part, fields) for part in tree.parts]
        return _joined(parts, "AND" if isinstance(tree, And) else "OR")
    if isinstance(tree, Contains):
        return _contains(tree)
    field = fields.get(tree.path)
    return _test(tree) if field is None else _facet(tree, field)


def _joined(parts: list[Sql], word: str) -> Sql:
    """The parts as a balanced tree, since SQLite limits the depth of an expression."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    (left, first), (right, second) = _joined(parts[:middle], word), _joined(parts[middle:], word)
    return f"({left} {word} {right})", first + second


def _contains(tree: Contains) -> Sql:
    """A test of the elements of a list, for which there is no index."""
    kind = _kind_of(tree.value)
    names = {"true"} if tree.value is True else {"false"} if tree.value is False else _names(kind)
    found = f"type IN ({', '.join(repr(name) for name in sorted(names))})"
    parameters = [tree.path, tree.path]
    if kind in (KINDS["text"], KINDS["real"]):
        found += " AND value = ?"
        parameters.append(tree.value)  # type: ignore[arg-type]
    is_list = "ifnull(json_type(metadata, ?), '') = 'array'"
    return f"({is_list} AND EXISTS (SELECT 1 FROM json_each(metadata, ?) WHERE {found}))", parameters


def _names(kind: int) -> set[str]:
    return {name for name, number in KINDS.items() if number == kind}


def _test(tree: Compare | In | Between | Like | Exists) -> Sql:
    """A test of a field without an index, by its JSON text."""
    if isinstance(tree, Exists):
        return "(json_type(metadata, ?) IS NOT NULL)", [tree.path]
    kinds = [(kind, *_value_test(tree, kind)) for kind in sorted(_kinds_of(tree))]
    parts = []
    for kind, condition, parameters in kinds:
        names = ", ".join(f"'{name}'" for name in sorted(_names(kind)))
        known = f"ifnull(json_type(metadata, ?), '') IN ({names})"
        if condition:
            condition = f" AND json_extract(metadata, ?) {condition}"
            parameters = [tree.path, *parameters]
        parts.append((f"({known}{condition})", [tree.path, *parameters]))
    return _joined(parts, "OR")


def _facet(tree: Compare | In | Between | Like | Exists, field: int) -> Sql:
    """A test of an indexed field."""
    if isinstance(tree, Exists):
        return "(number IN (SELECT number FROM facets WHERE field = ?))", [field]
    parts = []
    for kind in sorted(_kinds_of(tree)):
        condition, parameters = _value_test(tree, kind)
        condition = condition and f" AND value {condition}"
        found = f"SELECT number FROM facets WHERE field = ? AND kind = ?{condition}"
        parts.append((f"(number IN ({found}))", [field, kind, *parameters]))
    return _joined(parts, "OR")


def _kinds_of(tree: Compare | In | Between | Like) -> set[int]:
    if isinstance(tree, Like):
        return {KINDS["text"]}
    values = tree.values if isinstance(tree, In) else [tree.low if isinstance(tree, Between) else tree.value]
    return {_kind_of(value) for value in values}


def _kind_of(value: Value) -> int:
    if value is None:
        return KINDS["null"]
    if isinstance(value, bool):
        return KINDS["true"]
    return KINDS["text"] if isinstance(value, str) else KINDS["real"]


def _value_test(tree: Compare | In | Between | Like, kind: int) -> Sql:
    """The condition on a value of the kind; empty for null, which has only one value."""
    if kind == KINDS["null"]:
        return "", []
    if isinstance(tree, Compare):
        return f"{_SIGNS[tree.operator]} ?", [tree.value]
    if isinstance(tree, Like):
        return "LIKE ? ESCAPE '\\'", [tree.pattern]
    if isinstance(tree, Between):
        return "BETWEEN ? AND ?", [tree.low, tree.high]
    values = [int(value) if isinstance(value, bool) else value for value in tree.values if _kind_of(value) == kind]
    return "IN (SELECT value FROM json_each(?))", [json.dumps(values)]

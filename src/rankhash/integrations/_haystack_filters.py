"""Filters of Haystack, dicts of comparisons and of logic, as trees and text of rankhash."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from haystack.errors import FilterError

from .. import errors
from ..collection.filters import And, Filter, Not, Or, parse
from ._filters import compare, equal, field, mistake, nothing, one_of, to_text

MAX_DEPTH = 30
"""Largest nesting depth of logic, within that of the collection's filters"""
_LOGIC = ("AND", "OR", "NOT")
_ORDERED = ("<", "<=", ">", ">=")


def where_text(filters: dict[str, Any] | None, also: Filter | None = None) -> str | None:
    """The text of filters, joined by "and" with the tree ``also`` (None); raises Haystack's FilterError."""
    if not filters and also is None:
        return None
    try:
        trees = ([_tree(filters, 0)] if filters else []) + ([also] if also is not None else [])
        text = to_text(And(tuple(trees)))
        parse(text)
    except errors.FilterError as error:
        raise FilterError(str(error)) from error
    return text


def _tree(condition: Any, depth: int) -> Filter:
    if not isinstance(condition, dict):
        raise mistake(f"a filter must be a dict, got {condition!r:.60}")
    if depth > MAX_DEPTH:
        raise mistake(f"a filter may have {MAX_DEPTH} levels of logic")
    if "field" in condition:
        return _comparison(_path(condition["field"]), _value(condition, "operator"), _value(condition, "value"))
    operator, conditions = _value(condition, "operator"), _value(condition, "conditions")
    if operator not in _LOGIC or not isinstance(conditions, list):
        raise mistake(f"logic is one of {', '.join(_LOGIC)} over a list of conditions, got {operator!r:.40}")
    parts = tuple(_tree(part, depth + 1) for part in conditions)
    return Or(parts) if operator == "OR" else And(parts) if operator == "AND" else Not(And(parts))


def _value(condition: dict[str, Any], key: str) -> Any:
    if key not in condition:
        raise mistake(f"the key {key!r} is missing in {condition!r:.80}")
    return condition[key]


def _path(name: Any) -> str:
    if not isinstance(name, str):
        raise mistake(f"a field is named by text such as 'meta.year', got {name!r:.60}")
    names = name.split(".")
    return field(*(names if len(names) > 1 or name in ("id", "content", "score") else ["meta", name]))


def _comparison(path: str, operator: Any, value: Any) -> Filter:
    if operator in ("==", "!="):
        same = equal(path, value)
        return same if operator == "==" else Not(same)
    if operator in ("in", "not in"):
        some = one_of(path, value)
        return some if operator == "in" else Not(some)
    if operator not in _ORDERED:
        raise mistake(f"there is no operator {operator!r:.40}; known: ==, !=, in, not in, {', '.join(_ORDERED)}")
    if value is None:
        return nothing(path)
    if isinstance(value, str) and not _is_date(value):
        raise mistake(f"{operator} compares with numbers and dates in ISO form, got {value!r:.60}")
    return compare(path, operator, value)


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        return False
    return True

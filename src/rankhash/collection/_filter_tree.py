"""The tree of a filter expression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = "int | float | str | bool | None"


@dataclass(frozen=True)
class Compare:
    """A field compared with a value; the operator is one of = < <= > >=."""

    path: str
    operator: str
    value: Value


@dataclass(frozen=True)
class In:
    """A field that is one of several values."""

    path: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Between:
    """A field from one value to another, both included."""

    path: str
    low: Value
    high: Value


@dataclass(frozen=True)
class Contains:
    """A list that has a value among its elements."""

    path: str
    value: Value


@dataclass(frozen=True)
class Like:
    """Text that matches a pattern: % stands for any text, _ for any character; ASCII letters match without case."""

    path: str
    pattern: str


@dataclass(frozen=True)
class Exists:
    """A field that is present, also if its value is null."""

    path: str


@dataclass(frozen=True)
class Not:
    """The negation."""

    part: Filter


@dataclass(frozen=True)
class And:
    """All of the parts."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True)
class Or:
    """At least one of the parts."""

    parts: tuple[Filter, ...]


Test: TypeAlias = "Compare | In | Between | Contains | Like | Exists"
Filter: TypeAlias = "Test | Not | And | Or"


def tested_fields(tree: Filter) -> set[str]:
    """The JSON paths of the fields whose values a filter tests; ``exists`` tests none."""
    if isinstance(tree, Not):
        return tested_fields(tree.part)
    if isinstance(tree, (And, Or)):
        return set().union(*map(tested_fields, tree.parts))
    return set() if isinstance(tree, Exists) else {tree.path}

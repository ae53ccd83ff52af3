"""Filters given as data: trees of `rankhash.collection.filters`, and the text of a tree.

In these trees a missing field counts as null.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ..collection.filters import And, Between, Compare, Contains, Exists, Filter, In, Like, Not, Or, Value
from ..errors import FilterError

# -- trees ---------------------------------------------------------------------------------------------------------


def field(*names: str) -> str:
    """The JSON path of a field below other fields.

    >>> field("metadata", "size.width")
    '$."metadata"."size.width"'
    """
    for name in names:
        if not isinstance(name, str) or not name or any(c in '"\\`' or ord(c) < 32 for c in name):
            raise mistake(f'a field is named by text without ", \\, ` and control characters, got {name!r:.60}')
    return "$" + "".join(f'."{name}"' for name in names)


def equal(path: str, value: Any) -> Filter:
    """A field that has the value; for None, a field that is null or missing."""
    if value is None:
        return Or((Not(Exists(path)), Compare(path, "=", None)))
    return Compare(path, "=", _scalar(value))


def one_of(path: str, values: Any) -> Filter:
    """A field that has one of the values of a list; None among them stands for null or missing."""
    if not isinstance(values, list):
        raise mistake(f"values to choose from must be a list, got {values!r:.60}")
    some = tuple(_scalar(value) for value in values if value is not None)
    parts = ((In(path, some),) if some else ()) + ((equal(path, None),) if None in values else ())
    return Or(parts) if parts else nothing(path)


def nothing(path: str) -> Filter:
    """A test of a field that is never true."""
    return And((Exists(path), Not(Exists(path))))


def compare(path: str, operator: str, value: Any) -> Filter:
    """A field that is less or greater than a number or text; ``operator`` is one of < <= > >=."""
    if isinstance(value, bool):
        raise mistake(f"{operator} compares with a number or text, got {value!r}")
    return Compare(path, operator, _scalar(value))


def _scalar(value: Any) -> Value:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, (bool, int, float, str)):
        raise mistake(f"a filter compares with a number, text, true or false, got {value!r:.60}")
    if isinstance(value, float) and not math.isfinite(value):
        raise mistake(f"a filter compares with finite numbers, got {value!r}")
    return value


def mistake(message: str) -> FilterError:
    """The error for a filter given as data, which has no position."""
    return FilterError(message, 0)


# -- text ----------------------------------------------------------------------------------------------------------


def to_text(tree: Filter) -> str:
    r"""The text that `rankhash.collection.filters.parse` reads as the tree.

    >>> print(to_text(And((Compare(field("price"), "<", 20), Not(In(field("my tag"), ("a\"b", True)))))))
    (`price` < 20 and not (`my tag` in ("a\"b", true)))
    """
    if isinstance(tree, Not):
        return f"not ({to_text(tree.part)})"
    if isinstance(tree, (And, Or)):
        return _joined(tree.parts, "and" if isinstance(tree, And) else "or")
    name = _field_text(tree.path)
    if isinstance(tree, Compare):
        return f"{name} {tree.operator} {_value_text(tree.value)}"
    if isinstance(tree, In):
        return f"{name} in ({', '.join(map(_value_text, tree.values))})"
    if isinstance(tree, Between):
        return f"{name} between {_value_text(tree.low)} and {_value_text(tree.high)}"
    if isinstance(tree, Contains):
        return f"{_value_text(tree.value)} in {name}"
    return f"{name} like {_value_text(tree.pattern)}" if isinstance(tree, Like) else f"exists {name}"


def _joined(parts: tuple[Filter, ...], word: str) -> str:
    if not parts:
        raise mistake(f"{word} needs at least one condition")
    return "(" + f" {word} ".join(map(to_text, parts)) + ")"


def _field_text(path: str) -> str:
    return ".".join(f"`{name}`" for name in path.removeprefix('$."').removesuffix('"').split('"."'))


def _value_text(value: Value) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return json.dumps(value)

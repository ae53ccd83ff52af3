"""Filters of LlamaIndex as trees of rankhash, or as checks of metadata in Python."""

from __future__ import annotations

from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from ..collection.filters import And, Filter, Not, Or
from ._filters import compare, equal, field, mistake, one_of

_ORDERED = {FilterOperator.LT, FilterOperator.LTE, FilterOperator.GT, FilterOperator.GTE}
_TREES = {FilterOperator.EQ, FilterOperator.NE, FilterOperator.IN, FilterOperator.NIN, *_ORDERED}
"""Operators that a collection evaluates"""


def in_python(filters: MetadataFilters) -> bool:
    """Whether the filters have an operator that a collection does not evaluate."""
    return any(
        in_python(part) if isinstance(part, MetadataFilters) else part.operator not in _TREES
        for part in filters.filters
    )


def tree_of(filters: MetadataFilters) -> Filter:
    """The tree of filters."""
    parts = tuple(
        tree_of(part) if isinstance(part, MetadataFilters) else _test(part.key, part.operator, part.value)
        for part in filters.filters
    )
    if filters.condition == FilterCondition.OR:
        return Or(parts)
    return Not(Or(parts)) if filters.condition == FilterCondition.NOT else And(parts)


def _test(key: str, operator: FilterOperator, value: Any) -> Filter:
    path = field(key)
    if operator in _ORDERED:
        return compare(path, operator.value, value)
    if operator in (FilterOperator.IN, FilterOperator.NIN):
        some = one_of(path, value)
        return some if operator == FilterOperator.IN else Not(some)
    if isinstance(value, list):
        raise mistake(f"{operator.value} compares with one value, got a list")
    same = equal(path, value)
    return same if operator == FilterOperator.EQ else Not(same)


def matches(filters: MetadataFilters, metadata: dict[str, Any]) -> bool:
    """Whether metadata match filters, by the rules of LlamaIndex for single filters."""
    found = [_passes(part, metadata) for part in filters.filters]
    if filters.condition == FilterCondition.OR:
        return any(found)
    return not any(found) if filters.condition == FilterCondition.NOT else all(found)


def _passes(part: MetadataFilter | MetadataFilters, metadata: dict[str, Any]) -> bool:
    if isinstance(part, MetadataFilters):
        return matches(part, metadata)
    return bool(build_metadata_filter_fn(lambda _: metadata, MetadataFilters(filters=[part]))(""))

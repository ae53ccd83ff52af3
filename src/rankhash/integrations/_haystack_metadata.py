"""The metadata of Haystack documents: fields, types, values and their ranges."""

from __future__ import annotations

import json
from typing import Any

from .._checks import check_integer
from ._documents import Documents
from ._haystack_filters import where_text

_TYPES = {bool: "boolean", int: "int", float: "float"}
"""Names of types, as in Haystack's own store; values of all other types are keywords"""


class MetadataMethods:
    """The methods of a document store that describe metadata; a field may be named with the prefix ``meta.``."""

    _documents: Documents

    def count_unique_metadata_by_filter(self, filters: dict[str, Any], metadata_fields: list[str]) -> dict[str, int]:
        """The number of distinct values of each field, among the documents that match the filters."""
        metas = self._metas(filters)
        return {_name(field): len(_distinct(metas, field)) for field in metadata_fields}

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """The fields of all documents, each with its ``type``: boolean, int, float or keyword."""
        found = {name: value for meta in self._metas(None) for name, value in meta.items() if value is not None}
        return {name: {"type": _TYPES.get(type(value), "keyword")} for name, value in found.items()}

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """The smallest (``min``) and the largest (``max``) value of a field; None if its values have no order."""
        values = [
            value for value in _distinct(self._metas(None), metadata_field) if not isinstance(value, (list, dict))
        ]
        if not values or len({isinstance(value, str) for value in values}) > 1:
            return {"min": None, "max": None}
        return {"min": min(values), "max": max(values)}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Distinct values of a field in the order of their texts, and their total number.

        Parameters
        ----------
        metadata_field
            The field.
        search_term
            Text that the values contain, in upper or lower case; default None: all values.
        from_, size
            The first of the values to return (default 0) and their number (default 10).
        filters
            The documents to consider; default None: all.
        """
        check_integer("from_", from_, 0)
        check_integer("size", size, 0)
        values = _distinct(self._metas(filters), metadata_field)
        if search_term:
            values = [value for value in values if search_term.lower() in str(value).lower()]
        values.sort(key=lambda value: (str(value), type(value).__name__))
        return values[from_ : from_ + size], len(values)

    def _metas(self, filters: dict[str, Any] | None) -> list[dict[str, Any]]:
        items = self._documents.passing(where_text(filters), None)
        return [(item.metadata or {}).get("meta") or {} for item in items]


def _name(field: str) -> str:
    return field.removeprefix("meta.")


def _distinct(metas: list[dict[str, Any]], field: str) -> list[Any]:
    """The distinct values of a field; 1, 1.0, true and "1" differ, and null is no value."""
    found = [meta.get(_name(field)) for meta in metas]
    return [*{json.dumps(value, sort_keys=True): value for value in found if value is not None}.values()]

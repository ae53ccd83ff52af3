"""Parquet files: the vectors are one column of lists, or one numeric column per feature."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._parquet import need_parquet
from .._types import Array
from ._base import Block, VectorFile
from ._parquet_footer import column_sizes
from .foreign import decoding
from .limits import check_expansion

DICTIONARY_BYTES = 1 << 28
"""Largest size of a column's values in one block, in bytes; a dictionary stores a long text once for many rows."""


class ParquetFile(VectorFile):
    """Vectors from a column of lists of numbers, or else from one column per feature.

    The column ``id`` holds the ids; a column ``metadata`` holds JSON objects. In a file with a column of lists, every
    other column is metadata. In a file without one, the caller names the metadata columns.
    """

    def _inspect(self) -> None:
        with decoding(self.path, "Parquet file"), open_parquet(self.path) as file:
            schema = file.schema_arrow
            if len({*schema.names}) < len(schema.names):
                raise self._wrong("has columns of the same name")
            lists = [field.name for field in schema if _is_numbers(field.type)]
            missing = self.metadata - {*schema.names}
            if missing:
                raise self._wrong(f"has no column {min(missing)!r}; there are {', '.join(schema.names[:20])}")
            self._list = self._choose(lists, "column of lists") if lists or self.key is not None else None
            self._columns = [self._list] if self._list else self._number_columns(schema)
            self._described = self._other_columns(schema)
            self._most_rows = rows_at_once(self.path, self.max_bytes)
            width, dtype = self._width(file)
            self._set_shape((file.metadata.num_rows, width), dtype)
            self._has_ids = "id" in schema.names

    def _number_columns(self, schema: Any) -> list[str]:
        import pyarrow.types as types

        columns = []
        for field in schema:
            if field.name == "id" or field.name in self.metadata:
                continue
            if not (types.is_floating(field.type) or types.is_integer(field.type)):
                raise self._wrong(f"has the column {field.name!r} of {field.type}; name it as metadata")
            columns.append(field.name)
        return columns

    def _other_columns(self, schema: Any) -> list[str]:
        if self._list is None:
            return sorted(self.metadata)
        return [name for name in readable_columns(schema) if name not in ("id", self._list)]

    def _width(self, file: Any) -> tuple[int, np.dtype[Any]]:
        if self._list is None:
            return len(self._columns), np.dtype(np.float32)
        field = file.schema_arrow.field(self._list)
        dtype = np.dtype(field.type.value_type.to_pandas_dtype())
        if hasattr(field.type, "list_size"):
            return int(field.type.list_size), dtype
        for batch in file.iter_batches(1, columns=[self._list]):
            return (len(batch.column(0)[0]) if batch.column(0)[0].is_valid else 0), dtype
        raise self._wrong("holds no vectors")

    def _read(self, step: int) -> Iterator[Block]:
        columns = [*self._columns, *self._described, *(["id"] if self._has_ids else [])]
        with decoding(self.path, "Parquet file"), open_parquet(self.path) as file:
            for batch in file.iter_batches(min(step, self._most_rows), columns=columns):
                yield self._block(batch)

    def _block(self, batch: Any) -> Block:
        vectors = self._lists(batch) if self._list else self._table(batch)
        ids = batch.column(batch.schema.get_field_index("id")).to_pylist() if self._has_ids else None
        if ids is not None and not {*map(type, ids)} <= {int, str}:
            raise self._wrong("has ids that are neither integers nor text")
        return Block(vectors, ids, self._metadata(batch))

    def _lists(self, batch: Any) -> Array:
        column = batch.column(batch.schema.get_field_index(self._list))
        values = column.flatten()
        ragged = column.null_count or values.null_count or len(values) != len(column) * self.n_features
        if not ragged and hasattr(column, "offsets"):
            ragged = (np.diff(column.offsets.to_numpy()) != self.n_features).any()
        if ragged:
            raise self._wrong(f"has rows in {self._list!r} that are not {self.n_features} numbers")
        numbers: Array = values.to_numpy(zero_copy_only=False)
        return numbers.reshape(-1, self.n_features)

    def _table(self, batch: Any) -> Array:
        vectors = np.empty((batch.num_rows, self.n_features), np.float32)
        for i, name in enumerate(self._columns):
            vectors[:, i] = batch.column(batch.schema.get_field_index(name)).to_numpy(zero_copy_only=False)
        return vectors

    def _metadata(self, batch: Any) -> list[dict[str, Any] | None] | None:
        if not self._described:
            return None
        rows = batch.select(self._described).to_pylist()
        if self._described == ["metadata"]:
            return [self._parsed(row["metadata"]) for row in rows]
        return [{name: value for name, value in row.items() if value is not None} for row in rows]

    def _parsed(self, value: Any) -> dict[str, Any] | None:
        try:
            fields = json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            fields = value
        if fields is None or isinstance(fields, dict):
            return fields
        raise self._wrong("has metadata that are not JSON objects")


def open_parquet(path: str | os.PathLike[str]) -> Any:
    """The open Parquet file, or an error that names it."""
    parquet = need_parquet(os.fspath(path))
    with decoding(path, "Parquet file"):
        return parquet.ParquetFile(path)


def readable_columns(schema: Any) -> list[str]:
    """The columns that can be metadata: those that do not hold bytes."""
    import pyarrow.types as types

    return [field.name for field in schema if not types.is_binary(field.type)]


def rows_at_once(path: str | os.PathLike[str], max_bytes: int | None = None) -> int:
    """Number of rows per block that bounds its size, even if every row repeats the longest entry of a dictionary.

    Raises InvalidInputError if the file claims more than ``max_bytes``; None (default) as in `open_vectors`.
    """
    columns = column_sizes(path)
    check_expansion(path, sum(max(column.n_bytes, 4 * column.n_values) for column in columns), max_bytes)
    largest = max((column.n_bytes for column in columns if column.has_dictionary), default=0)
    return max(1, DICTIONARY_BYTES // max(1, largest))


def parquet_batches(
    path: str | os.PathLike[str], n_rows: int, columns: list[str] | None = None
) -> Iterator[dict[str, list[Any]]]:
    """Rows of a file as columns of Python values, at most ``n_rows`` at a time; ``columns`` None (default) for all."""
    with decoding(path, "Parquet file"), open_parquet(path) as file:
        for batch in file.iter_batches(min(n_rows, rows_at_once(path)), columns=columns):
            yield batch.to_pydict()


def _is_numbers(kind: Any) -> bool:
    import pyarrow.types as types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))

"""Parquet: vectors are a column of lists, or all columns of numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._base import Block, VectorFile


class ParquetFile(VectorFile):
    """A column of lists of numbers, or else one column a feature; ``id`` names the items, ``metadata`` holds JSON.

    Beside a column of lists every other column is metadata; without one, those are which the caller names.
    """

    def _inspect(self) -> None:
        with self._open() as file:
            schema = file.schema_arrow
            lists = [field.name for field in schema if _is_numbers(field.type)]
            missing = self.metadata - {*schema.names}
            if missing:
                raise self._wrong(f"has no column {min(missing)!r}; there are {', '.join(schema.names[:20])}")
            self._list = self._choose(lists, "column of lists") if lists or self.key is not None else None
            self._columns = [self._list] if self._list else self._number_columns(schema)
            self._described = self._other_columns(schema)
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
                raise self._wrong(f"has the column {field.name!r} of {field.type}, which must be called metadata")
            columns.append(field.name)
        return columns

    def _other_columns(self, schema: Any) -> list[str]:
        import pyarrow.types as types

        if self._list is None:
            return sorted(self.metadata)
        apart = {"id", self._list}
        return [field.name for field in schema if field.name not in apart and not types.is_binary(field.type)]

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
        import pyarrow

        columns = [*self._columns, *self._described, *(["id"] if self._has_ids else [])]
        with self._open() as file:
            try:
                for batch in file.iter_batches(step, columns=columns):
                    yield self._block(batch)
            except (pyarrow.ArrowException, OSError) as error:
                raise self._wrong(f"is damaged: {error}") from error

    def _block(self, batch: Any) -> Block:
        vectors = self._lists(batch) if self._list else self._table(batch)
        ids = batch.column(batch.schema.get_field_index("id")).to_pylist() if self._has_ids else None
        if ids is not None and not {*map(type, ids)} <= {int, str}:
            raise self._wrong("has ids that are neither integers nor text")
        return Block(vectors, ids, self._metadata(batch))

    def _lists(self, batch: Any) -> NDArray[Any]:
        column = batch.column(batch.schema.get_field_index(self._list))
        values = column.flatten()
        ragged = column.null_count or values.null_count or len(values) != len(column) * self.n_features
        if not ragged and hasattr(column, "offsets"):
            ragged = (np.diff(column.offsets.to_numpy()) != self.n_features).any()
        if ragged:
            raise self._wrong(f"has rows in {self._list!r} that are not {self.n_features} numbers")
        numbers: NDArray[Any] = values.to_numpy(zero_copy_only=False)
        return numbers.reshape(-1, self.n_features)

    def _table(self, batch: Any) -> NDArray[Any]:
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

    def _open(self) -> Any:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise self._wrong("needs pyarrow: pip install 'rankhash[data]'") from None
        try:
            return pyarrow.parquet.ParquetFile(self.path)
        except FileNotFoundError:
            raise
        except (pyarrow.ArrowException, OSError) as error:
            raise self._wrong(f"is not a readable Parquet file: {error}") from error


def _is_numbers(kind: Any) -> bool:
    import pyarrow.types as types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))

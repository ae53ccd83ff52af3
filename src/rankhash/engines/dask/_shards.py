"""What runs on the workers: shards are made or loaded, described, searched, merged and saved.

A shard is a :class:`~rankhash.FlatIndex`. Without explicit ids its codes are numbered from 0, and whoever searches it
says which number its first code has among all codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray

from ...codes import CodeLayout
from ...errors import FileFormatError, LayoutMismatchError, RankhashError
from ...index import FlatIndex
from ...neighbors import Neighbors, RadiusNeighbors
from .._merging import merge_neighbors, merge_radius

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]

BATCH = 1 << 20
"""Codes of a file that are read at once."""

N_MARKS = 64
"""Steps in which a shard tells how its ids are spread."""


@dataclass(frozen=True)
class Facts:
    """What the client knows of a shard; ``marks`` are some of its ids, ascending, evenly over the shard."""

    size: int
    n_bytes: int
    has_ids: bool
    marks: I64


def describe(shard: FlatIndex) -> Facts:
    """The facts of a shard."""
    has_ids = shard._store.ids is not None
    ids = shard.ids if has_ids else np.arange(len(shard))
    places = np.linspace(0, len(ids) - 1, N_MARKS + 1).astype(np.int64) if len(ids) else np.empty(0, np.int64)
    return Facts(len(shard), shard.nbytes, has_ids, ids[places])


def ids_between(shard: FlatIndex, low: int, high: int) -> I64:
    """The ids from ``low`` to below ``high``."""
    ids = shard.ids
    return ids[(ids >= low) & (ids < high)]


# -- from arrays and files ---------------------------------------------------------------------------------------------


def from_block(block: Any, layout: CodeLayout, ids: Any, place: int) -> FlatIndex:
    """The shard of a block of codes, and of its ids if there are some."""
    shard = FlatIndex(layout)
    try:
        shard.add(np.asarray(block), None if ids is None else np.asarray(ids))
    except ValueError as error:
        raise type(error)(f"in block {place}: {error}") from None
    return shard


def from_file(path: str, layout: CodeLayout) -> FlatIndex:
    """The shard of a ``.npy`` file of codes ``(n, n_bytes)``, or of a Parquet file, read a batch at a time."""
    try:
        return _from_npy(path, layout) if Path(path).suffix == ".npy" else _from_parquet(path, layout)
    except FileNotFoundError:
        raise
    except RankhashError as error:
        raise type(error)(f"{path}: {error}") from None
    except (ValueError, OSError) as error:
        raise FileFormatError(f"{path} is not a readable file of codes: {error}") from error


def _from_npy(path: str, layout: CodeLayout) -> FlatIndex:
    codes = np.load(path, mmap_mode="r", allow_pickle=False)
    shard = FlatIndex(layout)
    layout._check_shape(codes, layout.n_bytes, "codes")
    for start in range(0, len(codes), BATCH):
        shard.add(codes[start : start + BATCH])
    return shard


def _from_parquet(path: str, layout: CodeLayout) -> FlatIndex:
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    schema = file.schema_arrow
    _check_schema(schema, layout)
    columns = [name for name in ("code", "id") if name in schema.names]
    shard = FlatIndex(layout)
    for batch in file.iter_batches(batch_size=BATCH, columns=columns):
        ids = batch.column("id").to_numpy(zero_copy_only=False) if "id" in columns else None
        shard.add(_packed(batch.column("code"), layout), ids)
    return shard


def _check_schema(schema: Any, layout: CodeLayout) -> None:
    if "code" not in schema.names:
        raise LayoutMismatchError(f"there must be a column 'code' of packed codes, but there are {schema.names}")
    made_by = (schema.metadata or {}).get(b"rankhash", b"").decode(errors="replace")
    if made_by and layout.fingerprint and made_by != layout.fingerprint:
        raise LayoutMismatchError(f"its codes were made by the hasher {made_by[:40]}, not by {layout.fingerprint}")


def _packed(column: Any, layout: CodeLayout) -> U8:
    """Codes of a column of bytes."""
    import pyarrow as pa

    try:
        fixed = column.cast(pa.binary(layout.n_bytes))
    except pa.ArrowException:
        fixed = None
    if fixed is None or fixed.null_count:
        raise LayoutMismatchError(
            f"codes of {layout.n_symbols} symbols of arity {layout.arity} must have {layout.n_bytes} bytes each; "
            "those in the column 'code' do not"
        )
    rows = np.frombuffer(fixed.buffers()[1] or b"", np.uint8).reshape(-1, layout.n_bytes)
    return rows[fixed.offset : fixed.offset + len(fixed)]


# -- search ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """A search: the name of a method of FlatIndex, its queries and ``k`` or a radius, and its options."""

    method: str
    queries: NDArray[Any]
    limit: Any
    options: dict[str, Any]


def ask(shard: FlatIndex, filter: Any, offset: int, question: Question) -> Neighbors | RadiusNeighbors:
    """The shard's answer, with ids among all codes."""
    search = getattr(shard, question.method)
    found: Neighbors | RadiusNeighbors = search(question.queries, question.limit, filter=filter, **question.options)
    found.ids[found.ids >= 0] += offset
    return found


def merge(parts: list[Any], k: int) -> Neighbors | RadiusNeighbors:
    """One answer from several."""
    if isinstance(parts[0], RadiusNeighbors):
        return merge_radius(parts)
    return merge_neighbors(parts, k)


def same(value: Any) -> Any:
    """The value itself: as a task's argument it can be had again when the worker that held it is lost."""
    return value


@sizeof.register(FlatIndex)  # type: ignore[untyped-decorator]
def _size(shard: FlatIndex) -> int:
    """Bytes of a shard, by which the scheduler judges what it costs to move it."""
    return shard.nbytes

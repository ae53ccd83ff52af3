"""Tasks that run on the workers: they make, load, describe and search shards, and merge answers.

A shard is a [`FlatIndex`][rankhash.FlatIndex] or a [`VectorIndex`][rankhash.VectorIndex]. Without explicit ids its rows
are numbered from 0, and a search adds the shard's offset among all rows to the ids that it finds.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray

from ..._types import I64, U8
from ...codes import CodeLayout
from ...errors import FileFormatError, InvalidInputError, LayoutMismatchError, RankhashError
from ...index import FlatIndex
from ...neighbors import Neighbors, RadiusNeighbors
from ...readers import read_arrays
from ...vector_index import VectorIndex
from .._merging import merge_neighbors, merge_radius
from ._folder import Shard

BATCH = 1 << 20
"""Number of codes that are read from a file at a time."""

N_MARKS = 64
"""Number of intervals between the marks that describe how a shard's ids are distributed."""


@dataclass(frozen=True)
class Facts:
    """The client's description of a shard; ``marks`` are evenly spaced quantiles of its ids, ascending."""

    size: int
    n_bytes: int
    has_ids: bool
    marks: I64


def describe(shard: Shard, has_ids: bool | None) -> Facts:
    """The facts of a shard; ``has_ids`` says whether its ids were given (None: a FlatIndex knows)."""
    if has_ids is None:
        has_ids = not isinstance(shard, FlatIndex) or shard._store.ids is not None
    ids = shard.ids if has_ids else np.arange(len(shard))
    places = np.linspace(0, len(ids) - 1, N_MARKS + 1).astype(np.int64) if len(ids) else np.empty(0, np.int64)
    return Facts(len(shard), bytes_of(shard), has_ids, ids[places])


def ids_between(shard: Shard, low: int, high: int) -> I64:
    """The ids from ``low`` to below ``high``."""
    ids = shard.ids
    return ids[(ids >= low) & (ids < high)]


# -- from arrays and files ---------------------------------------------------------------------------------------------


def from_block(block: Any, like: CodeLayout | VectorIndex, ids: Any, place: int) -> Shard:
    """The shard of a block of codes or vectors with its ids, or without ids if they are None."""
    shard = _empty(like)
    if isinstance(shard, VectorIndex) and not len(block):
        return shard
    try:
        shard.add(np.asarray(block), None if ids is None else np.asarray(ids))
    except ValueError as error:
        raise type(error)(f"in block {place}: {error}") from None
    return shard


def _empty(like: CodeLayout | VectorIndex) -> Shard:
    """An index of its own; tasks of one worker may share ``like``."""
    return FlatIndex(like) if isinstance(like, CodeLayout) else deepcopy(like)


def from_file(path: str, like: CodeLayout | VectorIndex) -> Shard:
    """The shard of a ``.npy`` file of codes or vectors, or of a Parquet file of codes, read batch by batch."""
    try:
        if not isinstance(like, CodeLayout):
            return from_block(read_arrays(path)["X"], like, None, 0)
        return _from_npy(path, like) if Path(path).suffix == ".npy" else _from_parquet(path, like)
    except (FileNotFoundError, FileFormatError):
        raise
    except RankhashError as error:
        raise type(error)(f"{path}: {error}") from None
    except (ValueError, OSError) as error:
        raise FileFormatError(f"{path} is not a readable file: {error}") from error


def _from_npy(path: str, layout: CodeLayout) -> FlatIndex:
    try:
        codes = read_arrays(path)["X"]
    except InvalidInputError as error:
        raise FileFormatError(str(error)) from error
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
class ShardSearch:
    """A search: the name of a method of the shards, its queries and ``k`` or a radius, and its options."""

    method: str
    queries: NDArray[Any]
    limit: Any
    options: dict[str, Any]


def search_shard(shard: Shard, filter: Any, offset: int, search: ShardSearch) -> Neighbors | RadiusNeighbors:
    """The shard's answer, with ids among all rows."""
    call = getattr(shard, search.method)
    found: Neighbors | RadiusNeighbors = call(search.queries, search.limit, filter=filter, **search.options)
    found.ids[found.ids >= 0] += offset
    return found


def merge(parts: list[Any], k: int) -> Neighbors | RadiusNeighbors:
    """One answer from several."""
    if isinstance(parts[0], RadiusNeighbors):
        return merge_radius(parts)
    return merge_neighbors(parts, k)


def resubmittable(value: Any) -> Any:
    """The value itself. As the result of a task it is computed again when the worker that held it is lost."""
    return value


@sizeof.register((FlatIndex, VectorIndex))  # type: ignore[untyped-decorator]
def bytes_of(shard: Shard) -> int:
    """Bytes of a shard, by which the scheduler judges what it costs to move it."""
    rows = 0.0 if isinstance(shard, FlatIndex) else shard.describe().get("bytes_per_vector_rows", 0.0)
    return shard.nbytes + int(rows * len(shard))

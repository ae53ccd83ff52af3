"""Shards on their way to the workers, and what the client learns of them.

Loading tasks carry no worker restrictions, not even loose ones: the scheduler never runs a restricted task again once
all of its workers are gone, whatever workers come later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Future

from ..._types import I64
from ...codes import CodeLayout
from ...errors import DuplicateIdError, IdError, InvalidInputError, LayoutMismatchError
from ...vector_index import VectorIndex
from ._cluster import Cluster
from ._filters import Span
from ._folder import Manifest, load_shard
from ._shards import Facts, describe, from_block, from_file, ids_between

IDS_AT_ONCE = 8_000_000
"""Target size of the ranges of ids that are compared for duplicates when the shards' ids overlap."""

SUFFIXES = (".npy", ".parquet")


@dataclass(frozen=True)
class Shards:
    """The non-empty shards in the order of their first ids, and the range of ids of each."""

    futures: list[Future]
    spans: list[Span]
    n_bytes: int
    has_ids: bool
    ascending: bool


def check_codes(codes: Any, layout: CodeLayout) -> None:
    """Raise unless ``codes`` is a Dask array that may hold codes of this layout."""
    if not isinstance(codes, da.Array):
        raise InvalidInputError(f"codes must be a dask array, got {type(codes).__name__}; or use FlatIndex")
    if codes.ndim != 2 or codes.shape[1] != layout.n_bytes or codes.dtype != np.uint8:
        raise LayoutMismatchError(
            f"codes of {layout.n_symbols} symbols of arity {layout.arity} must be uint8 of the shape "
            f"(n, {layout.n_bytes}), got {codes.dtype} of the shape {codes.shape}"
        )


def check_vectors(vectors: Any) -> None:
    """Raise unless ``vectors`` is a Dask array of rows."""
    if not isinstance(vectors, da.Array):
        raise InvalidInputError(f"vectors must be a dask array, got {type(vectors).__name__}; or use VectorIndex")
    if vectors.ndim != 2 or np.isnan(vectors.shape[1]) or not vectors.shape[1]:
        raise InvalidInputError(f"vectors must have the shape (n, d), got {vectors.shape}")


def array_shards(cluster: Cluster, codes: da.Array, like: CodeLayout | VectorIndex, ids: Any) -> list[Future]:
    """A shard for every block of codes, or of vectors if ``like`` is an empty index of vectors."""
    blocks = codes.rechunk({1: -1}).to_delayed().ravel()
    numbers = [None] * len(blocks) if ids is None else _id_blocks(ids, codes)
    make = dask.delayed(from_block, pure=False)
    made = [make(block, like, numbers[i], i) for i, block in enumerate(blocks)]
    futures: list[Future] = cluster.client.compute(made)
    return futures


def _id_blocks(ids: Any, codes: da.Array) -> Any:
    if not isinstance(ids, da.Array):
        ids = da.from_array(np.asarray(ids), chunks=-1)
    known = not np.isnan([*ids.shape, codes.shape[0]]).any()
    if ids.ndim != 1 or (known and ids.shape[0] != codes.shape[0]):
        raise IdError(f"ids must be one for each of {codes.shape[0]} rows, got the shape {ids.shape}")
    if known:
        ids = ids.rechunk((codes.chunks[0],))
    elif ids.numblocks[0] != codes.numblocks[0]:
        raise IdError(f"ids must have a block for each of {codes.numblocks[0]} blocks of rows, got {ids.numblocks[0]}")
    return ids.to_delayed()


def file_shards(cluster: Cluster, files: list[Path], like: CodeLayout | VectorIndex) -> list[Future]:
    """A shard for every file."""
    return [cluster.client.submit(from_file, str(file), like, pure=False) for file in files]


def files_of(paths: Any, suffixes: tuple[str, ...] = SUFFIXES) -> list[Path]:
    """The absolute paths of the files, which end in ``suffixes`` (those of codes)."""
    if isinstance(paths, (str, Path)):
        folder = Path(paths).absolute()
        found = sorted(path for path in folder.iterdir() if path.suffix in suffixes) if folder.is_dir() else [folder]
    else:
        found = [Path(path).absolute() for path in paths]
    wrong = [path for path in found if path.suffix not in suffixes]
    if wrong or not found:
        raise InvalidInputError(f"files must end in {' or '.join(suffixes)}, got {wrong[0] if wrong else 'none'}")
    return found


def folder_shards(cluster: Cluster, folder: Path, manifest: Manifest, *, mmap: bool, verify: bool) -> list[Future]:
    """The shards of a saved index."""
    facts = zip(manifest.names(), manifest.sizes.tolist(), manifest.heads, strict=True)
    return [
        cluster.client.submit(
            load_shard,
            str(folder / name),
            manifest.shape,
            size,
            head.tobytes(),
            mmap=mmap,
            verify=verify,
            pure=False,
        )
        for name, size, head in facts
    ]


def settle(cluster: Cluster, futures: list[Future], *, has_ids: bool | None, shown: bool) -> Shards:
    """Wait until the shards are loaded; return the non-empty ones. Raises if an id occurs twice.

    ``has_ids`` says whether ids were given; None: the shards know.
    """
    described = cluster.client.map(describe, futures, has_ids=has_ids, pure=False)
    cluster.follow(described, "loading shards", shown=shown)
    facts: list[Facts] = cluster.gather(described, "loading shards")
    filled = [(future, fact) for future, fact in zip(futures, facts, strict=True) if fact.size]
    kinds = {fact.has_ids for _, fact in filled}
    if len(kinds) > 1:
        raise IdError("some shards have ids and others do not; give ids to all of them or to none")
    spans = list(_spans([fact for _, fact in filled]))
    order = sorted(range(len(spans)), key=lambda i: spans[i].first)
    spans = [spans[i] for i in order]
    ascending = all(one.last < other.first for one, other in pairwise(spans))
    shards = [filled[i][0] for i in order]
    if not ascending:
        _check_unique(cluster, shards, [fact for _, fact in filled])
    return Shards(shards, spans, sum(fact.n_bytes for _, fact in filled), kinds == {True}, ascending)


def _spans(facts: Sequence[Facts]) -> Iterator[Span]:
    start = 0
    for fact in facts:
        offset = 0 if fact.has_ids else start
        yield Span(fact.size, offset, int(fact.marks[0]) + offset, int(fact.marks[-1]) + offset)
        start += fact.size


def _check_unique(cluster: Cluster, shards: list[Future], facts: Sequence[Facts]) -> None:
    """Raise if two rows share an id; ids are compared one range at a time."""
    edges = id_ranges(facts, IDS_AT_ONCE)
    for low, high in pairwise(edges):
        parts = cluster.client.map(ids_between, shards, low=int(low), high=int(high), pure=False)
        ids = np.sort(np.concatenate(cluster.gather(parts, "comparing ids")))
        repeated = ids[1:][ids[1:] == ids[:-1]]
        if len(repeated):
            raise DuplicateIdError(f"id {repeated[0]} is in more than one shard, or more than once in one")


def id_ranges(facts: Sequence[Facts], at_once: int) -> I64:
    """Edges of ranges that hold about ``at_once`` ids each, estimated from the marks of the shards."""
    marks = np.concatenate([fact.marks for fact in facts])
    weights = np.concatenate([np.full(len(fact.marks), fact.size / len(fact.marks)) for fact in facts])
    order = np.argsort(marks, kind="stable")
    part = (weights[order].cumsum() // at_once).astype(np.int64)
    starts = marks[order][np.concatenate([[True], part[1:] != part[:-1]])]
    return np.unique(np.append(starts, marks.max() + 1))

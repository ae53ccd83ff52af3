"""Near-duplicates of a collection, through its public methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _metadata
from .._checks import check_radius
from .._ids import Id, as_ids
from .._types import F32, Flags
from ..duplicates import Pairs, duplicate_groups, near_pairs
from ..errors import TooManyPairsError
from ..vector_index import VectorIndex
from ..vectors import as_vectors
from ._read_methods import ReadMethods
from ._view import View
from .results import Item

_BATCH = 256
"""Items whose neighbours are searched at once."""


class ItemPairs(NamedTuple):
    """Pairs of near items, and their distances."""

    first: NDArray[np.object_]
    """(n_pairs,): ids of the items that were added earlier, or row numbers of the given vectors"""

    second: NDArray[np.object_]
    """(n_pairs,): ids of items"""

    distances: F32
    """(n_pairs,)"""


def pairs_of_items(items: ReadMethods, kept: list[Item], radius: float, max_pairs: int | None) -> ItemPairs:
    """All near pairs of the items ``kept``, by codes or, without a hasher, by true distance, in their order."""
    named = np.empty(len(kept), object)
    named[:] = [item.id for item in kept]
    if items.layout is None:
        return _pairs_by_distance(items, named, [item.vector for item in kept], radius, max_pairs)
    rows = b"".join(item.code.tobytes() for item in kept if item.code is not None)
    codes = np.frombuffer(rows, np.uint8).reshape(len(kept), items.layout.n_bytes)
    found = near_pairs(codes, radius, layout=items.layout, max_pairs=max_pairs).to_arrays()
    return ItemPairs(named[found.first], named[found.second], found.distances)


def groups_of_items(items: ReadMethods, view: View, radius: float, max_pairs: int | None) -> list[list[Id]]:
    """Groups of two or more items that near pairs connect, each in the order of insertion."""
    if items.layout is not None:
        groups = duplicate_groups(view.index, check_radius(radius, "radius"), max_pairs=max_pairs).groups
        names = iter(view.names(np.concatenate([np.empty(0, np.int64), *groups])))
        return [[next(names) for _ in group] for group in groups]
    known = items.ids()
    named = np.empty(len(known), object)
    named[:] = known
    places = {name: place for place, name in enumerate(known)}
    found = _pairs_by_distance(items, named, [item.vector for item in items.get(known)], radius, max_pairs)
    first, second = (np.array([places[name] for name in side], np.int64) for side in (found.first, found.second))
    return [
        [known[place] for place in group] for group in duplicate_groups(Pairs(first, second, found.distances)).groups
    ]


def _pairs_by_distance(
    items: ReadMethods, names: NDArray[np.object_], vectors: list[Any], radius: float, max_pairs: int | None
) -> ItemPairs:
    places = {name: place for place, name in enumerate(names)}
    parts = [ItemPairs(np.empty(0, object), np.empty(0, object), np.empty(0, np.float32))]
    n_pairs = 0
    for start in range(0, len(names), _BATCH):
        found = pairs_with_items(items, vectors[start : start + _BATCH], radius)
        first = found.first.astype(np.int64) + start
        later = np.array([places.get(name, -1) for name in found.second], np.int64) > first
        parts.append(ItemPairs(names[first[later]], found.second[later], found.distances[later]))
        n_pairs += int(later.sum())
        if max_pairs is not None and n_pairs > max_pairs:
            raise TooManyPairsError(max_pairs, n_pairs * len(names) / (start + _BATCH))
    return ItemPairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def pairs_with_items(items: ReadMethods, vectors: Any, radius: float) -> ItemPairs:
    """Rows of vectors and the items near them, nearest first."""
    found = items.search_radius(vectors, radius)
    first = np.repeat(np.arange(len(found.offsets) - 1), np.diff(found.offsets)).astype(object)
    return ItemPairs(first, found.ids, found.distances)


def without_duplicates(
    items: ReadMethods, vectors: Any, ids: Any, metadata: Any, radius: float
) -> tuple[F32, list[Id] | None, list[Any] | None]:
    """Vectors, ids and metadata of the rows that are near neither an item nor an earlier remaining row."""
    rows = as_vectors(vectors)
    names = None if ids is None else as_ids(ids, len(rows))
    described = None if metadata is None else _metadata.as_dicts(metadata, len(rows))
    if described is not None:
        _metadata.as_texts(described, len(rows))  # mistakes in dropped rows are errors as well
    kept = _new_rows(items, rows, check_radius(radius, "skip_duplicates"))
    chosen = np.flatnonzero(kept).tolist()
    return (
        rows[kept],
        None if names is None else [names[row] for row in chosen],
        None if described is None else [described[row] for row in chosen],
    )


def _new_rows(items: ReadMethods, rows: F32, radius: float) -> Flags:
    kept: Flags = np.diff(items.search_radius(rows, radius).offsets) == 0
    for first, second in _pairs_of_rows(items, rows, radius):
        if kept[first]:  # final, since pairs come in the order of their first member
            kept[second] = False
    return kept


def _pairs_of_rows(items: ReadMethods, rows: F32, radius: float) -> Iterator[tuple[int, int]]:
    """Pairs of near rows, by the first and then the second member."""
    if items.hasher is not None and items.layout is not None:
        for batch in near_pairs(items.hasher.encode(rows), radius, layout=items.layout, max_pairs=None):
            yield from zip(batch.first.tolist(), batch.second.tolist(), strict=True)
        return
    index = VectorIndex(items.metric, verbose=False)
    index.add(rows)
    for first, row in enumerate(rows):
        found = index.search(row[None], len(rows), exact=True)
        near = found.ids[0][found.distances[0] <= radius]
        yield from ((first, second) for second in np.sort(near[near > first]).tolist())

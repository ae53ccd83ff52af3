"""Near pairs by true distance, of the vectors of an index: `near_vector_pairs`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_integer, check_number, check_radius
from .._types import F32, I64, Flags
from ..errors import InvalidInputError, TooManyPairsError
from ..neighbors import Neighbors
from .pairs import Pairs

MAX_PAIRS = 10**8
ROUNDING = 1e-6
"""Tolerance for rounding errors of cosines of float32 vectors."""

_BATCH = 2048
_FIRST_K = 16
_GROWTH = 4
_MOST_ANSWERS = 1 << 22  # places of one search


class SearchedVectors(Protocol):
    """The interface of vector indexes that near pairs use."""

    def __len__(self) -> int: ...

    @property
    def metric(self) -> str:
        """The metric's name."""

    @property
    def ids(self) -> I64:
        """All ids, ascending."""

    def get(self, ids: ArrayLike) -> F32:
        """The vectors of ids."""

    def search(self, Q: Any, k: int, *, recall: float | None, exact: bool, n_threads: int | None) -> Neighbors:
        """The k nearest vectors of each query."""


def near_vector_pairs(
    index: SearchedVectors,
    threshold: float,
    *,
    recall: float | None = None,
    exact: bool = False,
    max_pairs: int | None = MAX_PAIRS,
    n_threads: int | None = None,
) -> Pairs:
    """All pairs of stored vectors with a cosine of at least, or a distance of at most ``threshold``.

    See [`VectorIndex.near_pairs`][rankhash.VectorIndex.near_pairs].
    """
    if max_pairs is not None:
        check_integer("max_pairs", max_pairs, 0)
    limit = _limit(index.metric, threshold)
    ids, options = index.ids, {"recall": recall, "exact": exact, "n_threads": n_threads}
    firsts, seconds, distances, n_found = [ids[:0]], [ids[:0]], [np.empty(0, np.float32)], 0
    for start in range(0, len(ids), _BATCH):
        for query, found, distance in _within(index, ids[start : start + _BATCH], limit, options):
            n_found += len(query)
            if max_pairs is not None and n_found > 2 * max_pairs:
                raise TooManyPairsError(max_pairs, n_found / 2 * len(ids) / min(len(ids), start + _BATCH))
            firsts.append(np.minimum(query, found))
            seconds.append(np.maximum(query, found))
            distances.append(distance)
    return _each_once(np.concatenate(firsts), np.concatenate(seconds), np.concatenate(distances), max_pairs)


def _limit(metric: str, threshold: float) -> float:
    if metric == "cosine":
        return float(np.float32(1 - check_number("threshold", threshold, -1, 1) + ROUNDING))
    if metric == "euclidean":
        return float(np.float32(check_radius(threshold, "threshold")))
    raise InvalidInputError(f"near_pairs needs the metric 'cosine' or 'euclidean', not {metric!r}")


def _within(index: SearchedVectors, ids: I64, limit: float, options: dict[str, Any]) -> Iterator[tuple[I64, I64, F32]]:
    """Queries, their neighbours within the limit, and distances; k grows for queries with k neighbours within it."""
    k = min(_FIRST_K, len(index))
    while len(ids):
        step, full = max(1, _MOST_ANSWERS // k), [ids[:0]]
        for start in range(0, len(ids), step):
            some = ids[start : start + step]
            found = index.search(index.get(some), k, **options)
            near = (found.ids >= 0) & (found.distances <= limit)
            cut: Flags = np.all(near, axis=1) & (k < len(index))
            full.append(some[cut])
            near &= ~cut[:, None] & (found.ids != some[:, None])
            yield np.repeat(some, near.sum(axis=1)), found.ids[near], found.distances[near]
        ids, k = np.concatenate(full), min(_GROWTH * k, len(index))


def _each_once(first: I64, second: I64, distances: F32, max_pairs: int | None) -> Pairs:
    """Pairs in order; a pair that was found from both members is kept once."""
    order = np.lexsort((distances, second, first))
    first, second, distances = first[order], second[order], distances[order]
    new = np.ones(len(first), dtype=bool)
    new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    if max_pairs is not None and new.sum() > max_pairs:
        raise TooManyPairsError(max_pairs, float(new.sum()))
    return Pairs(first[new], second[new], distances[new])

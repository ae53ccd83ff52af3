"""Results of the methods of a collection."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._types import F32, I64, U8


class Matches(NamedTuple):
    """The k nearest items of each query, nearest first; of equal distances the one that was added earlier comes first.

    Places that could not be filled have the id None and an infinite distance.
    """

    ids: NDArray[np.object_]
    """(n_queries, k): integers and strings"""

    distances: F32
    """(n_queries, k)"""


class RadiusMatches(NamedTuple):
    """All items within a radius of each query, query after query, each ordered by distance, then by insertion."""

    offsets: I64
    """(n_queries + 1,): the hits of query i are those from ``offsets[i]`` to ``offsets[i + 1]``"""

    ids: NDArray[np.object_]
    """(n_hits,)"""

    distances: F32
    """(n_hits,)"""

    def query(self, i: int) -> Matches:
        """The hits of query ``i`` as one row."""
        hits = slice(self.offsets[i], self.offsets[i + 1])
        return Matches(self.ids[None, hits], self.distances[None, hits])


class Item(NamedTuple):
    """One item of a collection."""

    id: int | str
    code: U8 | None
    """(n_bytes,), if the collection has a hasher"""
    metadata: dict[str, Any] | None
    vector: F32 | None
    """(n_features,), if the collection stores vectors"""


@dataclass(frozen=True)
class Stats:
    """The sizes and settings of a collection."""

    n_items: int
    hasher: str | None
    """None for a collection without a hasher, like the following ones except ``n_features``"""
    fingerprint: str | None
    n_features: int | None
    """None while nothing was added to a collection without a hasher"""
    n_symbols: int | None
    arity: int | None
    bits: int | None
    store_vectors: str | None
    metric: str
    """The metric of true distances"""
    recall: float
    """The fraction of the true neighbours that searches without a hasher find"""
    n_learned: int | None
    """Items from which a collection without a hasher has learned; None while searches compare all vectors"""
    recall_measured: float | None
    """The recall of the 10 nearest, measured on stored vectors with the setting of searches"""
    indexed_fields: tuple[str, ...]
    n_chunks: int
    n_dead_codes: int
    """Codes of removed items that still take space; ``compact`` drops them"""
    generation: int
    file_bytes: int
    index: str = field(default="", compare=False)
    """The index that searches of this handle use: ``"flat"`` or ``"4 tables"``, and whether tables are being built"""
    index_bytes: int = field(default=0, compare=False)
    """Its memory; 0 before the first search"""


@dataclass(frozen=True)
class CheckReport:
    """The result of checking a collection's file; ``problems`` is empty if it is undamaged."""

    n_items: int
    n_chunks: int
    problems: tuple[str, ...]

"""What a collection answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Matches(NamedTuple):
    """The k nearest items of each query, nearest first; of equal distances the one that was added earlier comes first.

    Places that could not be filled have the id None and an infinite distance.
    """

    ids: NDArray[np.object_]
    """(n_queries, k): integers and strings, as they were given"""

    distances: NDArray[np.float32]
    """(n_queries, k)"""


class RadiusMatches(NamedTuple):
    """All items within a radius of each query, row after row, in the order of :class:`Matches`."""

    offsets: NDArray[np.int64]
    """(n_queries + 1,): the hits of query i are those from ``offsets[i]`` to ``offsets[i + 1]``"""

    ids: NDArray[np.object_]
    """(n_hits,)"""

    distances: NDArray[np.float32]
    """(n_hits,)"""

    def query(self, i: int) -> Matches:
        """The hits of query ``i`` as one row."""
        hits = slice(self.offsets[i], self.offsets[i + 1])
        return Matches(self.ids[None, hits], self.distances[None, hits])


class Item(NamedTuple):
    """What a collection holds of one item."""

    id: int | str
    code: NDArray[np.uint8]
    """(n_bytes,)"""
    metadata: dict[str, Any] | None
    vector: NDArray[np.float32] | None
    """(n_features,), if the collection stores vectors"""


@dataclass(frozen=True)
class Stats:
    """How large a collection is, and what it is made of."""

    n_items: int
    hasher: str
    fingerprint: str
    n_features: int
    n_symbols: int
    arity: int
    bits: int
    store_vectors: str | None
    indexed_fields: tuple[str, ...]
    n_chunks: int
    n_dead_codes: int
    """Codes of removed items that still take room; ``compact`` drops them"""
    generation: int
    file_bytes: int
    index: str = field(default="", compare=False)
    """What searches of this handle read: ``"flat"`` or ``"4 tables"``, and whether tables are being made"""
    index_bytes: int = field(default=0, compare=False)
    """Memory that it takes; 0 before the first search"""


@dataclass(frozen=True)
class CheckReport:
    """What a check of a collection's file found; ``problems`` is empty if all is well."""

    n_items: int
    n_chunks: int
    problems: tuple[str, ...]

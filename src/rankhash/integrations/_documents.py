"""A collection for the stores of other libraries: created on demand, known ids replaced, unknown ids ignored."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._checks import check_integer
from ..collection import Collection, Item, Snapshot
from ..errors import IdError, InvalidInputError, UnknownIdError

PathLike = str | os.PathLike[str]

GROWTH = 4
"""Growth factor of k, until enough documents pass a check in Python"""


def similarity(metric: str, distance: float) -> float:
    """The cosine, the inner product, or 1 / (1 + distance) for the Euclidean distance: larger is nearer."""
    return 1 - distance if metric == "cosine" else -distance if metric == "dot" else 1 / (1 + distance)


class Documents:
    """Vectors with ids and fields in a collection, which is a file or stays in memory.

    Parameters
    ----------
    path
        The collection's file, which is made if it does not exist; None keeps everything in memory.
    metric
        ``"cosine"``, ``"euclidean"`` or ``"dot"``; an existing file must have been made with the same.
    recall
        The fraction of the true neighbours that searches find on average.
    """

    def __init__(self, path: PathLike | None, metric: str, recall: float) -> None:
        self.path = None if path is None else os.fspath(path)
        if self.path is not None and os.path.exists(self.path):
            self.collection = Collection.open(self.path, "rw")
            if self.collection.metric != metric:
                made = self.collection.metric
                self.collection.close()
                raise InvalidInputError(f"{self.path} was made with metric={made!r}, not {metric!r}")
        else:
            self.collection = Collection.create(self.path, metric=metric, recall=recall)

    def put(self, ids: Sequence[str], vectors: Sequence[Any], fields: Sequence[dict[str, Any]]) -> None:
        """Add documents, or replace those with the same ids; of equal ids in one call the last is kept."""
        rows = sorted({name: row for row, name in enumerate(ids)}.values())
        if rows:
            self.collection.upsert([vectors[i] for i in rows], [ids[i] for i in rows], [fields[i] for i in rows])

    def known(self, ids: Sequence[int | str]) -> list[int | str]:
        """Those of the ids that are in the collection, in the order given, each once."""
        with self.collection.snapshot() as now:
            return _known(now, ids)

    def get(self, ids: Sequence[int | str], *, vectors: bool = False) -> list[Item]:
        """The documents of those ids that are known, in the order given, each once."""
        with self.collection.snapshot() as now:
            return now.get(_known(now, ids), vectors=vectors)

    def remove(self, ids: Sequence[int | str]) -> int:
        """Remove the documents of those ids that are known; returns their number."""
        while True:
            try:
                return self.collection.delete(self.known(ids))
            except UnknownIdError:  # another writer was faster
                continue

    def passing(self, where: str | None, passes: Callable[[Item], bool] | None, *, vectors: bool = False) -> list[Item]:
        """All documents that match the filter and pass the check, in the order of insertion."""
        with self.collection.snapshot() as now:
            items = now.get(now.ids(where=where), vectors=vectors)
        return items if passes is None else [item for item in items if passes(item)]

    def nearest(
        self,
        vector: Sequence[float],
        k: int,
        where: str | None = None,
        passes: Callable[[Item], bool] | None = None,
        *,
        vectors: bool = False,
    ) -> list[tuple[Item, float]]:
        """The k nearest documents that match the filter and pass the check, with their distances, nearest first."""
        check_integer("k", k)
        with self.collection.snapshot() as now:
            n_wanted = max(min(k, len(now)), 1)
            while True:
                found = now.search(np.asarray(vector, np.float32)[None], n_wanted, where=where)
                n_found = sum(name is not None for name in found.ids[0])
                items = now.get(found.ids[0, :n_found].tolist(), vectors=vectors)
                hits = zip(items, found.distances[0].tolist(), strict=False)
                kept = [hit for hit in hits if passes is None or passes(hit[0])]
                if len(kept) >= k or n_found < n_wanted or n_wanted >= len(now):
                    return kept[:k]
                n_wanted = min(GROWTH * n_wanted, len(now))


def _known(now: Snapshot, ids: Sequence[int | str]) -> list[int | str]:
    names = [*dict.fromkeys(ids)]
    try:
        return now.known(names)
    except IdError:  # one of them cannot be an id of any item
        return [name for name in names if name in now]

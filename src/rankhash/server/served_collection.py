"""The collections of a server, each under a name."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from ..collection import Collection, Snapshot
from ..hashers import Hasher, ViewHasher
from ._errors import ApiError
from .settings import Settings

SUFFIX = ".rankhash"
"""Suffix of the files of collections in a server's folder"""


class ServedCollection:
    """One collection, and the operations that clients may use."""

    def __init__(self, name: str, collection: Collection, settings: Settings) -> None:
        self.name = name
        self.collection = collection
        self.settings = settings
        self.writable = settings.writable and collection.mode == "rw"
        self.writing = asyncio.Lock()
        """Held during a change, so that other changes wait for it and not in a thread"""
        self._groups: tuple[tuple[int, float], list[list[int | str]]] = ((-1, 0.0), [])

    @property
    def n_features(self) -> int | None:
        """Dimensions of the vectors; None while nothing was added to a collection without a hasher."""
        return self.collection.n_features

    def width(self, view: str | None) -> int | None:
        """Dimensions of the vectors of a view; None is the first or only one."""
        hasher = self.collection.hasher
        return self.n_features if view is None else self.view_hasher(hasher, view).n_features_in_

    def view_hasher(self, hasher: Hasher | None, view: str) -> Hasher:
        """The hasher of one view."""
        if not isinstance(hasher, ViewHasher):
            raise ApiError(422, "invalid", "this collection has no views: its hasher was not fitted to several")
        return hasher.view_hasher(view)

    def info(self) -> dict[str, Any]:
        """The entry of the collection in the list of collections."""
        layout, hasher = self.collection.layout, self.collection.hasher
        scorings = ["auto"]
        if hasher is not None:
            weighted = getattr(hasher, "weights_", None) is not None
            scorings += ["hamming", *(["weighted"] if weighted else []), "asymmetric"]
        return {
            "name": self.name,
            "n_items": len(self.collection),
            "hasher": None if hasher is None else type(hasher).__name__,
            "n_features": self.n_features,
            "n_symbols": None if layout is None else layout.n_symbols,
            "arity": None if layout is None else layout.arity,
            "bits": None if layout is None else layout.bits,
            "metric": self.collection.metric,
            "store_vectors": self.collection.store_vectors,
            "writable": self.writable,
            "scorings": scorings,
            "rerank": hasher is not None and self.collection.store_vectors is not None,
            "text": self.settings.text_encoder is not None,
            "views": list(hasher.views_) if isinstance(hasher, ViewHasher) else [],
        }

    def stats(self) -> dict[str, Any]:
        """The description of the collection."""
        return asdict(self.collection.stats()) | self.info()

    def duplicates(self, snapshot: Snapshot, radius: float, max_pairs: int) -> list[list[int | str]]:
        """Groups of near-duplicates; the groups of the last call are cached for further pages."""
        question = (snapshot.generation, radius)
        known, groups = self._groups
        if known != question:
            groups = snapshot.duplicate_groups(radius=radius, max_pairs=max_pairs)
            self._groups = (question, groups)
        return groups


def find(collections: Mapping[str, ServedCollection], name: str) -> ServedCollection:
    """The collection of that name."""
    served = collections.get(name)
    if served is None:
        raise ApiError(404, "not_found", f"there is no collection {name[:100]!r}", "GET /v1/collections lists them")
    return served


def names_of(paths: Iterable[str]) -> list[str]:
    """A name for each file: its stem, with a number where that is taken.

    >>> names_of(["a/digits.rankhash", "b/digits.rankhash", "words.db"])
    ['digits', 'digits-2', 'words']
    """
    names: list[str] = []
    for path in paths:
        stem = os.path.splitext(os.path.basename(path))[0] or "collection"
        name, number = stem, 1
        while name in names:
            number += 1
            name = f"{stem}-{number}"
        names.append(name)
    return names

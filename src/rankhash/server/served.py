"""The collections that are served, each under a name that is fixed at the start."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from ..collection import Collection
from .errors import ApiError
from .settings import Settings


class Served:
    """One collection, and what the server lets its clients do with it."""

    def __init__(self, name: str, collection: Collection, settings: Settings) -> None:
        self.name = name
        self.collection = collection
        self.settings = settings
        self.writable = settings.writable and collection.mode == "rw"
        self.writing = asyncio.Lock()
        """Held by whoever changes the collection, since others would only wait in a thread."""
        self.n_features = int(collection.hasher.n_features_in_)

    def info(self) -> dict[str, Any]:
        """What a client may want to know before it asks."""
        layout, hasher = self.collection.layout, self.collection.hasher
        weighted = getattr(hasher, "weights_", None) is not None
        return {
            "name": self.name,
            "n_items": len(self.collection),
            "hasher": type(hasher).__name__,
            "n_features": self.n_features,
            "n_symbols": layout.n_symbols,
            "arity": layout.arity,
            "bits": layout.bits,
            "store_vectors": self.collection.store_vectors,
            "writable": self.writable,
            "scorings": ["hamming", *(["weighted"] if weighted else []), "asymmetric"],
            "rerank": self.collection.store_vectors is not None,
            "text": self.settings.text_encoder is not None,
        }

    def stats(self) -> dict[str, Any]:
        """All that is known of it."""
        return asdict(self.collection.stats()) | self.info()


def find(collections: Mapping[str, Served], name: str) -> Served:
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

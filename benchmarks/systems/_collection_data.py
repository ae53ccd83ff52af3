"""Collections to measure: a hasher of random projections, random vectors, metadata of a given share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rankhash import Collection
from rankhash._types import Array
from rankhash.hashers import RSH


def fitted_hasher(p: dict[str, Any]) -> RSH:
    """A hasher of random projections: how well it hashes does not matter here."""
    rng = np.random.default_rng(0)
    hasher = RSH(p["n_symbols"], p["arity"], random_state=0, n_neighbors=10)
    return hasher.fit(rng.standard_normal((200, p["n_features"])).astype(np.float32))


def draw_vectors(p: dict[str, Any], n: int, stream: int) -> Array:
    return np.random.default_rng(stream).standard_normal((n, p["n_features"]), dtype=np.float32)


def draw_metadata(p: dict[str, Any], start: int, n: int) -> list[dict[str, Any]]:
    passing = np.random.default_rng(start + 1).random(n) < p.get("share", 0.5)
    return [{"group": int(g), "name": f"item {start + i}", "price": i / 2} for i, g in enumerate(passing)]


def _fill(collection: Collection, p: dict[str, Any], *, stream: int = 1) -> None:
    batch = p.get("batch", 100_000)
    for start in range(0, p["n"], batch):
        n = min(batch, p["n"] - start)
        named = p.get("named", False)
        ids = [f"item-{i:09d}" for i in range(start, start + n)] if named else None
        described = draw_metadata(p, start, n) if named else None
        collection.add(draw_vectors(p, n, stream + start), ids, described)


@contextmanager
def filled(p: dict[str, Any]) -> Iterator[Collection]:
    with tempfile.TemporaryDirectory() as folder:
        given = {name: p[name] for name in ("store_vectors", "metric") if name in p}
        # Flat: the collection is compared with its index, not one kind of index with another.
        path = f"{folder}/bench.rankhash"
        with Collection.create(path, fitted_hasher(p), index="flat", **given) as collection:
            _fill(collection, p)
            yield collection

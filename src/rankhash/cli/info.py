"""``rankhash info``: what is in a file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from ..collection import Collection
from ..hashers import load_hasher
from . import _common


@click.command(epilog=_common.examples("rankhash info hasher.safetensors", "rankhash info items.rankhash --json"))
@click.argument("path", type=_common.existing)
@_common.as_json_option
def command(path: str, as_json: bool) -> None:
    """Say what the file PATH holds: a hasher, its method and the shape of its codes, or a collection and its size."""
    _common.show(_collection_facts(path) if _common.is_collection(path) else _hasher_facts(path), as_json=as_json)


def _collection_facts(path: str) -> dict[str, Any]:
    with Collection.open(path) as collection:
        return {"kind": "Collection", **asdict(collection.stats())}


def _hasher_facts(path: str) -> dict[str, Any]:
    hasher = load_hasher(path)
    layout = hasher.layout_
    return {
        "kind": type(hasher).__name__,
        "n_symbols": layout.n_symbols,
        "arity": layout.arity,
        "bits": layout.bits,
        "n_features": int(hasher.n_features_in_),
    }

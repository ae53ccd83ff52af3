"""``rankhash info``: the contents of a file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from . import _common


@click.command(epilog=_common.examples("rankhash info hasher.safetensors", "rankhash info items.rankhash --json"))
@click.argument("path", type=_common.existing)
@_common.as_json_option
def command(path: str, as_json: bool) -> None:
    """Describe the file PATH: the method and the codes of a hasher, or the size of a collection."""
    _common.show(_collection_facts(path) if _common.is_collection(path) else _hasher_facts(path), as_json=as_json)


def _collection_facts(path: str) -> dict[str, Any]:
    from ..collection import Collection

    with Collection.open(path) as collection:
        facts = {"kind": "Collection", **asdict(collection.stats()), **_common.views_of(collection.hasher)}
    del facts["index_bytes"]  # the memory of searches, and there was none
    return facts


def _hasher_facts(path: str) -> dict[str, Any]:
    from ..hashers import load_hasher

    hasher = load_hasher(path)
    layout = hasher.layout_
    return {
        "kind": type(hasher).__name__,
        "n_symbols": layout.n_symbols,
        "arity": layout.arity,
        "bits": layout.bits,
        "n_features": int(hasher.n_features_in_),
        **_common.views_of(hasher),
    }

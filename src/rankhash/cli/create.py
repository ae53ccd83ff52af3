"""``rankhash create``: a new collection."""

from __future__ import annotations

import click

from ..collection import Collection
from . import _common


@click.command(
    epilog=_common.examples(
        "rankhash create items.rankhash --hasher hasher.safetensors",
        "rankhash create items.rankhash --hasher hasher.safetensors --store-vectors float16",
    )
)
@click.argument("collection", type=click.Path())
@click.option("--hasher", required=True, type=_common.existing, help="A hasher file, or a collection to take it from.")
@click.option(
    "--store-vectors", type=click.Choice(["float16", "float32"]), help="Keep the vectors as well, for re-ranking."
)
@_common.as_json_option
def command(collection: str, hasher: str, store_vectors: str | None, as_json: bool) -> None:
    """Make the file COLLECTION, which must not be there yet: an empty collection with its hasher inside."""
    with Collection.create(collection, _common.hasher_of(hasher), store_vectors=store_vectors) as made:
        stats = made.stats()
    facts = {"path": collection, "hasher": stats.hasher, "bits": stats.bits, "n_features": stats.n_features}
    _common.show(facts | {"store_vectors": stats.store_vectors}, as_json=as_json)

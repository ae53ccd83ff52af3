"""``rankhash create``: a new collection."""

from __future__ import annotations

import click

from . import _common


@click.command(
    epilog=_common.examples(
        "rankhash create items.rankhash --metric cosine",
        "rankhash create items.rankhash --hasher hasher.safetensors",
        "rankhash create items.rankhash --hasher hasher.safetensors --store-vectors float16",
    )
)
@click.argument("collection", type=click.Path())
@click.option("--hasher", type=_common.existing, help="A hasher file, or a collection to take it from.")
@click.option(
    "--metric",
    type=click.Choice(["cosine", "euclidean", "dot"]),
    help="How vectors are compared.  [default: cosine; with a hasher, euclidean]",
)
@click.option("--recall", type=float, default=0.95, show_default=True, help="Share of the true neighbours to find.")
@click.option(
    "--store-vectors",
    type=click.Choice(["float16", "float32"]),
    help="How to store vectors.  [default: float32; with a hasher, not at all]",
)
@_common.as_json_option
def command(
    collection: str, hasher: str | None, metric: str | None, recall: float, store_vectors: str | None, as_json: bool
) -> None:
    """Make the file COLLECTION, which must not be there yet: an empty collection.

    Without a hasher it keeps vectors and finds their true neighbours.
    """
    from ..collection import Collection

    found = None if hasher is None else _common.hasher_of(hasher)
    with Collection.create(collection, found, metric=metric, recall=recall, store_vectors=store_vectors) as made:
        stats = made.stats()
    facts = {"path": collection, "hasher": stats.hasher, "bits": stats.bits, "n_features": stats.n_features}
    _common.show(facts | {"metric": stats.metric, "store_vectors": stats.store_vectors}, as_json=as_json)

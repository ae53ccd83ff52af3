"""``rankhash rehash``: all items of a collection encoded anew."""

from __future__ import annotations

import time

import click

from . import _common


@click.command(
    epilog=_common.examples(
        "rankhash rehash items.rankhash",
        "rankhash rehash items.rankhash --hasher better.safetensors",
    )
)
@click.argument("collection", type=_common.existing)
@click.option("--hasher", type=_common.existing, help="A hasher file, or a collection to take it from.")
@_common.timeout_option
@_common.as_json_option
def command(collection: str, hasher: str | None, timeout: float, as_json: bool) -> None:
    """Encode all items of COLLECTION anew from their stored vectors, in one transaction.

    Without a hasher it learns anew from the stored vectors: a hasher of the same class and parameters or, in a
    collection that has none, cells and codes.
    """
    from ..collection import Collection

    started = time.perf_counter()
    with Collection.open(collection, "rw", timeout=timeout) as items:
        items.rehash(None if hasher is None else _common.hasher_of(hasher))
        stats = items.stats()
    facts = {"n_items": stats.n_items, "hasher": stats.hasher, "bits": stats.bits, "n_learned": stats.n_learned}
    _common.show(facts | {"seconds": round(time.perf_counter() - started, 3)}, as_json=as_json)

"""``rankhash compact``: the room of removed items back to the disk."""

from __future__ import annotations

import click

from ..collection import Collection
from . import _common


@click.command(epilog=_common.examples("rankhash compact items.rankhash"))
@click.argument("collection", type=_common.existing)
@_common.timeout_option
@_common.as_json_option
def command(collection: str, timeout: float, as_json: bool) -> None:
    """Drop what removed items left in the file COLLECTION and give the room back to the disk.

    It needs about as much free room as the file takes; others may read meanwhile.
    """
    with Collection.open(collection, "rw", timeout=timeout) as items:
        before = items.stats()
        items.compact()
        after = items.stats()
    facts = {"n_items": after.n_items, "dropped_codes": before.n_dead_codes}
    _common.show(facts | {"bytes_before": before.file_bytes, "bytes_after": after.file_bytes}, as_json=as_json)

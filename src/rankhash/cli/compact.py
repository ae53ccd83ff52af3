"""``rankhash compact``: free the space of removed items."""

from __future__ import annotations

import click

from . import _common


@click.command(epilog=_common.examples("rankhash compact items.rankhash"))
@click.argument("collection", type=_common.existing)
@_common.timeout_option
@_common.as_json_option
def command(collection: str, timeout: float, as_json: bool) -> None:
    """Remove the data of deleted items from the file COLLECTION and shrink the file.

    This temporarily needs about as much free disk space as the file takes. Other processes can read meanwhile.
    """
    from ..collection import Collection

    with Collection.open(collection, "rw", timeout=timeout) as items:
        before = items.stats()
        items.compact()
        after = items.stats()
    facts = {"n_items": after.n_items, "dropped_codes": before.n_dead_codes}
    _common.show(facts | {"bytes_before": before.file_bytes, "bytes_after": after.file_bytes}, as_json=as_json)

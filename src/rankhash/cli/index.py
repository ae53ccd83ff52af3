"""``rankhash index``: make filters on a field fast."""

from __future__ import annotations

import click

from ..collection import Collection
from . import _common


@click.command(
    epilog=_common.examples("rankhash index items.rankhash price", "rankhash index items.rankhash price --drop")
)
@click.argument("collection", type=_common.existing)
@click.argument("field")
@click.option("--drop", is_flag=True, help="Drop the index instead.")
@_common.timeout_option
@_common.as_json_option
def command(collection: str, field: str, drop: bool, timeout: float, as_json: bool) -> None:
    """Make an index of the metadata field FIELD, such as price or size.width, in the file COLLECTION.

    Filters give the same answers with and without; with it, the first use of a filter that passes few items is fast.
    """
    with Collection.open(collection, "rw", timeout=timeout) as items:
        items.index_field(field, drop=drop)
        facts = {"indexed_fields": list(items.stats().indexed_fields)}
    _common.show(facts, as_json=as_json)

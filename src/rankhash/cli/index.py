"""``rankhash index``: index a metadata field for fast filters."""

from __future__ import annotations

import click

from . import _common


@click.command(
    epilog=_common.examples("rankhash index items.rankhash price", "rankhash index items.rankhash price --drop")
)
@click.argument("collection", type=_common.existing)
@click.argument("field")
@click.option("--drop", is_flag=True, help="Remove the index of the field.")
@_common.timeout_option
@_common.as_json_option
def command(collection: str, field: str, drop: bool, timeout: float, as_json: bool) -> None:
    """Index the metadata field FIELD, such as price or size.width, in the file COLLECTION.

    Answers are the same with and without an index. An index speeds up the first use of a filter that matches few items.
    """
    from ..collection import Collection

    with Collection.open(collection, "rw", timeout=timeout) as items:
        items.index_field(field, drop=drop)
        facts = {"indexed_fields": list(items.stats().indexed_fields)}
    _common.show(facts, as_json=as_json)

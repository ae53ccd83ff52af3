"""``rankhash delete``: items out of a collection."""

from __future__ import annotations

import click

from ..collection import Collection
from . import _common


@click.command(
    epilog=_common.examples(
        "rankhash delete items.rankhash 17 18 --timeout 60",
        "rankhash delete items.rankhash red-chair --json",
        """rankhash delete items.rankhash --where "price > 100 and not exists stock" """.strip(),
    )
)
@click.argument("collection", type=_common.existing)
@click.argument("ids", nargs=-1)
@click.option("--where", metavar="FILTER", help="Delete the items that pass a filter over the metadata.")
@click.option("--text-ids", is_flag=True, help="Take ids such as 17 as text, not as integers.")
@_common.timeout_option
@_common.as_json_option
def command(
    collection: str, ids: tuple[str, ...], where: str | None, text_ids: bool, timeout: float, as_json: bool
) -> None:
    """Delete the items IDS from the file COLLECTION, or those that pass a filter.

    An id that is not there is an error, and then nothing is deleted.
    """
    if bool(ids) == (where is not None):
        raise click.UsageError("give either ids or --where.")
    with Collection.open(collection, "rw", timeout=timeout) as items:
        names = _common.parse_ids(ids, text=text_ids) if ids else None
        done = items.delete(names, where=where)
        facts = {"deleted": done, "n_items": len(items)}
    _common.show(facts, as_json=as_json)

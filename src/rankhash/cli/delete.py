"""``rankhash delete``: delete items from a collection."""

from __future__ import annotations

import click

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
@click.option("--where", metavar="FILTER", help="Delete all items whose metadata match the filter.")
@click.option("--text-ids", is_flag=True, help="Treat ids such as 17 as text instead of integers.")
@_common.timeout_option
@_common.as_json_option
def command(
    collection: str, ids: tuple[str, ...], where: str | None, text_ids: bool, timeout: float, as_json: bool
) -> None:
    """Delete the items IDS from the file COLLECTION, or all items that match a filter.

    An unknown id is an error; then nothing is deleted.
    """
    from ..collection import Collection

    if bool(ids) == (where is not None):
        raise click.UsageError("give either ids or --where.")
    with Collection.open(collection, "rw", timeout=timeout) as items:
        names = _common.parse_ids(ids, text=text_ids) if ids else None
        done = items.delete(names, where=where)
        facts = {"deleted": done, "n_items": len(items)}
    _common.show(facts, as_json=as_json)

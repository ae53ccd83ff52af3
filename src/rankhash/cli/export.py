"""``rankhash export``: the items of a collection in a file for other programs."""

from __future__ import annotations

import click

from . import _common


@click.command(
    epilog=_common.examples(
        "rankhash export items.rankhash items.parquet",
        "rankhash export items.rankhash codes.parquet --words",
        "rankhash export items.rankhash items.jsonl",
        "rankhash export items.rankhash codes.npy",
    )
)
@click.argument("collection", type=_common.existing)
@click.argument("out", type=click.Path(dir_okay=False))
@click.option("--words", is_flag=True, help="Add the codes to .parquet as 64-bit columns too, for SQL engines.")
@_common.as_json_option
def command(collection: str, out: str, words: bool, as_json: bool) -> None:
    """Write the items of the file COLLECTION, in the order in which they were added, to the file OUT.

    .parquet and .jsonl files hold ids, metadata, codes and stored vectors, and can be added to another collection. A
    .npy file holds the codes only.
    """
    from ..collection import Collection

    with Collection.open(collection) as items, _common.progress("exporting", len(items)) as update:
        done = items.export_file(out, words=words, progress=update)
    _common.show({"path": out, "exported": done}, as_json=as_json)

"""``rankhash add``: add items to a collection."""

from __future__ import annotations

import time

import click

from ..readers import open_vectors
from . import _common


@click.command(
    epilog=_common.examples(
        "rankhash add items.rankhash vectors.npy",
        "rankhash add items.rankhash items.csv --metadata colour --metadata price",
        "rankhash add items.rankhash items.parquet --replace",
        "rankhash add items.rankhash texts.npy --view text",
        "rankhash add items.rankhash vectors.npy --ids words.txt --metadata-file items.csv",
        "rankhash add items.rankhash vectors.npy --metadata-file items.parquet --id-column name",
        """echo '{"id": "a", "vector": [1, 2, 3, 4], "metadata": {"colour": "red"}}' | rankhash add items.rankhash -""",
    )
)
@click.argument("collection", type=_common.existing)
@click.argument("vectors", type=str)
@click.option("--ids", type=_common.existing, help="Text file with one id per line, in the order of the vectors.")
@click.option(
    "--metadata-file",
    type=_common.existing,
    help="A .csv file with a header, a .jsonl or a .parquet file: one row of metadata per vector.",
)
@click.option("--id-column", metavar="COLUMN", help="Column that holds the ids, of --metadata-file or else of VECTORS.")
@click.option("--replace", is_flag=True, help="Replace items whose ids are already in the collection.")
@_common.view_option
@_common.key_option
@_common.metadata_option
@_common.timeout_option
@_common.as_json_option
def command(
    collection: str,
    vectors: str,
    ids: str | None,
    metadata_file: str | None,
    id_column: str | None,
    replace: bool,
    view: str | None,
    key: str | None,
    metadata: tuple[str, ...],
    timeout: float,
    as_json: bool,
) -> None:
    """Add the items of the file VECTORS to the file COLLECTION; on any error, none of them is added.

    VECTORS may be - for JSON lines on standard input. Ids come from the file; items of a file without ids are numbered.
    The file is read block by block, so it may be larger than memory.
    """
    from ..collection import Collection

    started = time.perf_counter()
    with Collection.open(collection, "rw", timeout=timeout) as items:
        total = None if vectors == "-" else open_n_rows(vectors, key, metadata)
        with _common.progress("adding", total) as update:
            done = items.import_file(
                vectors,
                key,
                metadata=metadata,
                ids_file=ids,
                metadata_file=metadata_file,
                id_column=id_column,
                replace=replace,
                view=view,
                progress=update,
            )
        items.learn()
        facts = {"added": done, "n_items": len(items), "seconds": round(time.perf_counter() - started, 3)}
    _common.show(facts, as_json=as_json)


def open_n_rows(path: str, key: str | None, metadata: tuple[str, ...]) -> int | None:
    """The number of rows of a file; None if it is unknown, or if the file holds exported codes instead of vectors."""
    try:
        return open_vectors(path, key, metadata=metadata).n_rows
    except ValueError:
        return None

"""``rankhash add``: items into a collection."""

from __future__ import annotations

import time

import click

from ..collection import Collection
from ..readers import open_vectors
from . import _common


@click.command(
    epilog=_common.examples(
        "rankhash add items.rankhash vectors.npy",
        "rankhash add items.rankhash items.csv --metadata colour --metadata price",
        "rankhash add items.rankhash items.parquet --replace",
        """echo '{"id": "a", "vector": [1, 2, 3, 4], "metadata": {"colour": "red"}}' | rankhash add items.rankhash -""",
    )
)
@click.argument("collection", type=_common.existing)
@click.argument("vectors", type=str)
@click.option("--replace", is_flag=True, help="Replace items whose ids are in the collection.")
@_common.key_option
@_common.metadata_option
@_common.timeout_option
@_common.as_json_option
def command(
    collection: str,
    vectors: str,
    replace: bool,
    key: str | None,
    metadata: tuple[str, ...],
    timeout: float,
    as_json: bool,
) -> None:
    """Add the items of the file VECTORS (- for JSON lines on standard input), all of them or on any error none.

    Files with an id for each item keep them; otherwise items are numbered. Vectors are read a block at a time.
    """
    started = time.perf_counter()
    with Collection.open(collection, "rw", timeout=timeout) as items:
        total = None if vectors == "-" else open_n_rows(vectors, key, metadata)
        with _common.progress("adding", total) as tell:
            done = items.import_file(vectors, key, metadata=metadata, replace=replace, progress=tell)
        facts = {"added": done, "n_items": len(items), "seconds": round(time.perf_counter() - started, 3)}
    _common.show(facts, as_json=as_json)


def open_n_rows(path: str, key: str | None, metadata: tuple[str, ...]) -> int | None:
    """How many rows a file has, if that is known; exported codes are no vectors, and not counted."""
    try:
        return open_vectors(path, key, metadata=metadata).n_rows
    except ValueError:
        return None

"""``rankhash search``: the nearest items of queries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from ..collection import Collection, Matches
from ..readers import open_vectors
from . import _common


@click.command(
    epilog=_common.examples(
        "rankhash search items.rankhash queries.npy -k 5",
        """rankhash search items.rankhash queries.npy --where "price < 20 and colour in ('red', 'blue')" """.strip(),
        "rankhash search items.rankhash queries.npy --rerank 100 --json",
        "rankhash search items.rankhash --like 17",
    )
)
@click.argument("collection", type=_common.existing)
@click.argument("queries", type=str, required=False)
@click.option("--like", multiple=True, metavar="ID", help="Search what is like this item; may be repeated.")
@click.option("-k", type=int, default=10, show_default=True, help="How many items for each query.")
@click.option("--where", metavar="FILTER", help="Only among items that pass a filter over the metadata.")
@click.option(
    "--scoring",
    type=click.Choice(["hamming", "weighted", "asymmetric"]),
    default="hamming",
    show_default=True,
    help="What a distance is.",
)
@click.option("--rerank", type=int, help="Order so many candidates by exact distances to the stored vectors.")
@click.option("--radius", type=float, help="Leave out items whose codes are farther away.")
@click.option("--with-metadata", is_flag=True, help="Show the metadata of what was found.")
@click.option("--text-ids", is_flag=True, help="Take ids such as 17 as text, not as integers.")
@_common.key_option
@_common.as_json_option
def command(
    collection: str,
    queries: str | None,
    like: tuple[str, ...],
    k: int,
    where: str | None,
    scoring: str,
    rerank: int | None,
    radius: float | None,
    with_metadata: bool,
    text_ids: bool,
    key: str | None,
    as_json: bool,
) -> None:
    """Find the items of COLLECTION that are nearest to the vectors of the file QUERIES, or to items of it.

    With --json each query gives one line: {"query": 0, "ids": [...], "distances": [...]}.
    """
    if (queries is None) == (not like):
        raise click.UsageError("give either a file of queries or --like.")
    options: dict[str, Any] = {"where": where, "scoring": scoring, "rerank": rerank, "radius": radius}
    with Collection.open(collection) as items:
        query = 0
        for found in _answers(items, queries, key, _common.parse_ids(like, text=text_ids), k, options):
            for ids, distances in zip(found.ids.tolist(), found.distances.tolist(), strict=True):
                names = [name for name in ids if name is not None]
                described = [item.metadata for item in items.get(names)] if with_metadata else None
                _print(query, names, distances, described, as_json=as_json)
                query += 1


def _answers(
    items: Collection, queries: str | None, key: str | None, like: list[int | str], k: int, options: dict[str, Any]
) -> Iterator[Matches]:
    if queries is None:
        yield items.search_ids(like, k, **options)
        return
    for block in open_vectors(queries, key).blocks(1024):
        yield items.search(np.asarray(block.vectors), k, **options)


def _print(query: int, ids: list[Any], distances: list[float], described: list[Any] | None, *, as_json: bool) -> None:
    distances = distances[: len(ids)]
    if as_json:
        row: dict[str, Any] = {"query": query, "ids": ids, "distances": distances}
        click.echo(json.dumps(row | ({} if described is None else {"metadata": described}), ensure_ascii=False))
        return
    for i, (name, distance) in enumerate(zip(ids, distances, strict=True)):
        more = "" if described is None or described[i] is None else "  " + json.dumps(described[i], ensure_ascii=False)
        click.echo(f"{query:>6}  {distance:>10.4g}  {name}{more}")

"""``rankhash search``: the nearest items for queries."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .._types import F32
from ..errors import UnknownIdError
from ..readers import open_vectors
from . import _common

if TYPE_CHECKING:
    from ..collection import Collection


@click.command(
    epilog=_common.examples(
        "rankhash search items.rankhash queries.npy -k 5",
        """rankhash search items.rankhash queries.npy --where "price < 20 and colour in ('red', 'blue')" """.strip(),
        "rankhash search items.rankhash queries.npy --rerank 100 --json",
        "rankhash search items.rankhash --like 17",
        "rankhash search items.rankhash --like 17 --like 23 --unlike 5",
        "rankhash search items.rankhash texts.npy --view text",
    )
)
@click.argument("collection", type=_common.existing)
@click.argument("queries", type=str, required=False)
@click.option("--like", multiple=True, metavar="ID", help="Find items like this one; several of these make one query.")
@click.option("--unlike", multiple=True, metavar="ID", help="… and less like this one; with --like. May be repeated.")
@click.option("-k", type=int, default=10, show_default=True, help="Number of items per query.")
@click.option("--where", metavar="FILTER", help="Search only items whose metadata match the filter.")
@click.option(
    "--scoring",
    type=click.Choice(["auto", "hamming", "weighted", "asymmetric"]),
    default="auto",
    show_default=True,
    help="What a distance is; auto takes the best that the collection has.",
)
@click.option("--rerank", type=int, help="Number of candidates to re-rank by their stored vectors; 0 for none.")
@click.option("--recall", type=float, help="Share of the true neighbours to find, without a hasher.")
@click.option("--group-by", metavar="FIELD", help="Of items with the same value in this field, only the nearest.")
@click.option("--radius", type=float, help="Leave out items that are farther away.")
@click.option("--with-metadata", is_flag=True, help="Show the metadata of what was found.")
@click.option("--text-ids", is_flag=True, help="Take ids such as 17 as text, not as integers.")
@_common.view_option
@_common.key_option
@_common.as_json_option
def command(
    collection: str,
    queries: str | None,
    like: tuple[str, ...],
    unlike: tuple[str, ...],
    k: int,
    where: str | None,
    scoring: str,
    rerank: int | None,
    recall: float | None,
    group_by: str | None,
    radius: float | None,
    with_metadata: bool,
    text_ids: bool,
    view: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Find the nearest items of the file COLLECTION for the vectors in the file QUERIES, or those that are like the
    items --like ID, and less like the items --unlike ID.

    With --json every query gives one line: {"query": 0, "ids": [...], "distances": [...]}.
    """
    from ..collection import Collection

    if (queries is None) == (not like):
        raise click.UsageError("give either a file of queries or --like.")
    if unlike and not like:
        raise click.UsageError("--unlike needs --like.")
    options: dict[str, Any] = {"where": where, "scoring": scoring, "rerank": rerank, "radius": radius, "recall": recall}
    options["group_by"] = group_by
    if view is not None:
        if like:
            raise click.UsageError("--view is the view of QUERIES; items of --like need none.")
        options["view"] = view
    if like:
        options |= {name: _common.parse_ids(ids, text=text_ids) for name, ids in (("like", like), ("unlike", unlike))}
    with Collection.open(collection) as items, _hinting(items, options.get("like", []) + options.get("unlike", [])):
        for query, (ids, distances, described) in enumerate(
            row
            for asked in _queries(queries, key)
            for row in _search(items, asked, k, options, with_metadata=with_metadata)
        ):
            _print(query, ids, distances, described, as_json=as_json)


@contextlib.contextmanager
def _hinting(items: Collection, names: list[int | str]) -> Iterator[None]:
    """Add examples of ids to the error for an unknown id among ``names``."""
    try:
        yield
    except UnknownIdError as error:
        if any(isinstance(name, int) and str(name) in items for name in names):
            raise click.UsageError(f"{error}, but there is one of that text; add --text-ids.") from None
        some = ", ".join(repr(name) for name in items.ids(limit=3))
        raise click.UsageError(f"{error}; ids are such as {some}." if some else f"{error}, which is empty.") from None


Row = tuple[list[Any], list[float], list[Any] | None]


def _queries(path: str | None, key: str | None) -> Iterator[F32 | None]:
    """The vectors of a file, block by block; without a file one None, for a search by examples."""
    if path is None:
        yield None
    else:
        for block in open_vectors(path, key).blocks(1024):
            yield np.asarray(block.vectors)


def _search(
    items: Collection, asked: F32 | None, k: int, options: dict[str, Any], *, with_metadata: bool
) -> Iterator[Row]:
    """Ids, distances and metadata of the nearest items per query, all read from one commit."""
    with items.snapshot() as snapshot:
        found = snapshot.search(asked, k, **options)
        for ids, distances in zip(found.ids.tolist(), found.distances.tolist(), strict=True):
            names = [name for name in ids if name is not None]
            described = [item.metadata for item in snapshot.get(names, vectors=False)] if with_metadata else None
            yield names, distances[: len(names)], described


def _print(query: int, ids: list[Any], distances: list[float], described: list[Any] | None, *, as_json: bool) -> None:
    if as_json:
        row: dict[str, Any] = {"query": query, "ids": ids, "distances": distances}
        click.echo(json.dumps(row | ({} if described is None else {"metadata": described}), ensure_ascii=False))
        return
    if query == 0:
        click.echo(f"{'query':>6}  {'distance':>10}  id" + ("" if described is None else "  metadata"))
    for i, (name, distance) in enumerate(zip(ids, distances, strict=True)):
        more = "" if described is None or described[i] is None else "  " + json.dumps(described[i], ensure_ascii=False)
        click.echo(f"{query:>6}  {distance:>10.4g}  {name}{more}")

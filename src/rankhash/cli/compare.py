"""``rankhash compare``: which method to choose for your own vectors."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import _common

if TYPE_CHECKING:
    from ..evaluation.comparison import Compared

METHODS = ("RankQuantizer", "JRSH", "ITQ", "LSH")


class ManySizes(click.Command):
    """A command whose option ``--bytes`` takes all integers that follow it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat ``--bytes`` before each of its integers."""
        found: list[str] = []
        for word in args:
            follows = len(found) > 1 and found[-2] == "--bytes" and found[-1].isdecimal() and word.isdecimal()
            found += ["--bytes", word] if follows else [word]
        return super().parse_args(ctx, found)


@click.command(
    cls=ManySizes,
    epilog=_common.examples(
        "rankhash compare vectors.npy --bytes 8 16 32",
        "rankhash compare vectors.npy --method RankQuantizer --method ITQ --metric cosine --plot recall.html",
    ),
)
@click.argument("vectors")
@click.option(
    "--bytes", "n_bytes", type=click.IntRange(1), multiple=True, help="Bytes per code, one or more. [8, 16, 32]"
)
@click.option("--method", "methods", multiple=True, help=f"A hasher; may be repeated. [{', '.join(METHODS)}]")
@click.option(
    "--metric",
    type=click.Choice(["euclidean", "cosine"]),
    default="euclidean",
    show_default=True,
    help="True distance.",
)
@click.option("-k", type=click.IntRange(1), default=10, show_default=True, help="Number of neighbours per query.")
@click.option(
    "--candidates", type=click.IntRange(1), default=100, show_default=True, help="Number of candidates to re-rank."
)
@click.option("--recall", type=click.FloatRange(0, 1), default=0.95, show_default=True, help="Recall to recommend for.")
@click.option("--at-most", type=click.IntRange(1), default=16, show_default=True, help="Bytes to recommend for.")
@click.option(
    "--n-queries", type=click.IntRange(1), help="Number of vectors to hold out. By default a tenth, at most 1000."
)
@click.option(
    "--seed",
    "random_state",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the queries and the fits.",
)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="HTML page with a figure and a table to write."
)
@_common.as_json_option
def command(
    vectors: str,
    n_bytes: tuple[int, ...],
    methods: tuple[str, ...],
    k: int,
    candidates: int,
    recall: float,
    at_most: int,
    plot: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare methods on VECTORS at equal bytes: the true neighbours they find, their times, and which to choose.

    VECTORS is a file (.npy .npz .fvecs .bvecs .csv .jsonl .parquet .mat .mtx .hdf5) or the name of a data set, such as
    digits. Held-out queries are removed from the database. "10 of 100" is the recall after re-ranking 100 candidates by
    true distances.
    """
    from ..datasets import load_dataset
    from ..evaluation.comparison import compare, recommend
    from ..evaluation.comparison_page import comparison_page

    sizes, names = n_bytes or (8, 16, 32), methods or METHODS
    data = load_dataset(vectors)
    with _common.progress("comparing", len(sizes) * len(names) + 2) as update:
        n_done = itertools.count()
        rows = compare(
            data.vectors,
            n_bytes=sizes,
            methods=names,
            k=k,
            candidates=candidates,
            progress=lambda _: update(next(n_done)),
            **options,
        )
    best = recommend(rows, recall, at_most)
    advice = _advice(rows, best, recall, at_most, candidates)
    if plot is not None:
        plot.write_text(comparison_page(rows, k, candidates, advice), encoding="utf-8")
    if as_json:
        click.echo(json.dumps({"rows": [asdict(row) for row in rows], "best": best and asdict(best)}))
        return
    _print(rows, k, candidates)
    click.echo(advice)


def _print(rows: Sequence[Compared], k: int, candidates: int) -> None:
    from ..evaluation.comparison_page import HEADER

    header = [title.format(k=k, candidates=candidates) for title in HEADER]
    click.echo(f"{header[0]:<16}" + "".join(f"{title:>12}" for title in header[1:]))
    for row in rows:
        times = f"{row.fit_seconds:>12.2f}{row.encode_microseconds:>12.2f}{row.search_milliseconds:>12.3f}"
        click.echo(f"{row.method:<16}{row.n_bytes:>12}{row.recall:>12.3f}{row.recall_reranked:>12.3f}{times}")


def _advice(rows: Sequence[Compared], best: Compared | None, recall: float, at_most: int, candidates: int) -> str:
    wanted = f"recall ≥ {recall:g} at ≤ {at_most} bytes: "
    if best is None:
        from ..evaluation.comparison import INDEX

        (index,) = (row for row in rows if row.method == INDEX)
        return f"{wanted}no codes alone; VectorIndex reaches {index.recall:.3f} with {index.n_bytes} bytes."
    return (
        f"{wanted}{best.method}, {best.n_bytes} bytes, {candidates} candidates re-ranked ({best.recall_reranked:.3f})."
    )

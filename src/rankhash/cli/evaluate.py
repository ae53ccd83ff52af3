"""``rankhash evaluate``: the quality of a hasher on your own vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from numpy.typing import NDArray

from ..errors import InvalidInputError
from . import _common
from ._hasher_options import DEFAULT, hasher_options, make_hasher

if TYPE_CHECKING:
    from ..datasets import Dataset
    from ..hashers import Hasher

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(
    epilog=_common.examples(
        "rankhash evaluate vectors.npy",
        "rankhash evaluate vectors.npy --method rankquantizer --bits 128 --metric cosine",
        "rankhash evaluate vectors.npy --hasher hasher.safetensors --labels labels.npy --json",
    )
)
@click.argument("vectors")
@click.option("--hasher", "hasher_file", type=FILE, help="File of a fitted hasher. By default --method is fitted.")
@click.option("--method", default=DEFAULT, show_default=True, help="Method to fit on the database.")
@click.option("--bits", type=click.IntRange(1), help="Bits per code, for --method, instead of --n-symbols.")
@hasher_options
@click.option(
    "--labels",
    type=FILE,
    help="Class labels of VECTORS: a .npy, or a text file with one per line. Items of the same class are then "
    "relevant; by default the k nearest vectors are.",
)
@click.option("--queries", type=FILE, help="File of query vectors. By default some of VECTORS are held out.")
@click.option("--query-labels", type=FILE, help="Class labels of the vectors in --queries.")
@click.option(
    "--n-queries", type=click.IntRange(1), help="Number of vectors to hold out. By default a tenth, at most 1000."
)
@click.option(
    "--metric",
    type=click.Choice(["euclidean", "cosine", "inner_product"]),
    default="euclidean",
    show_default=True,
    help="Distance that defines the true neighbours.",
)
@click.option("-k", type=click.IntRange(1), default=10, show_default=True, help="Number of neighbours per query.")
@click.option(
    "--candidates", type=click.IntRange(1), default=100, show_default=True, help="Number of candidates to re-rank."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed for the choice of queries and for the fit.",
)
@_common.as_json_option
def command(
    vectors: str,
    hasher_file: Path | None,
    method: str,
    bits: int | None,
    n_symbols: int | None,
    arity: int | None,
    settings: tuple[str, ...],
    labels: Path | None,
    queries: Path | None,
    query_labels: Path | None,
    n_queries: int | None,
    metric: str,
    k: int,
    candidates: int,
    seed: int,
    as_json: bool,
) -> None:
    """Report how well codes find the true neighbours of queries among VECTORS, or items of the same class.

    VECTORS is a file (.npy .npz .fvecs .bvecs .csv .jsonl .parquet .mat .mtx .hdf5) or the name of a data set, such as
    digits. Held-out queries are removed from the database. "(asymmetric)" compares codes with unrounded scores of
    queries. "Re-ranked" is the recall after the best candidates by code were ordered by true distance. rankhash compare
    compares methods.
    """
    from ..datasets import load_dataset
    from ..evaluation.held_out import evaluate
    from ..hashers import load_hasher

    if bits is not None and n_symbols is not None:
        raise click.UsageError("give --bits or --n-symbols, not both.")
    given = {"n_symbols": n_symbols, "arity": arity, "random_state": seed}
    chosen = None if hasher_file is not None else _unfitted(method, bits, given, settings)
    with _common.progress("evaluating", 3) as update:
        data = load_dataset(vectors)
        classes = _labels(labels, len(data.vectors)) if labels else None
        base, asked, base_classes, asked_classes = _split(data, classes, queries, query_labels, n_queries, seed)
        update(1)
        hasher = load_hasher(str(hasher_file)) if chosen is None else chosen.fit(base, base_classes)
        update(2)
        both = None if base_classes is None else (base_classes, asked_classes)
        found = evaluate(hasher, base, asked, labels=both, k=k, metric=metric, candidates=candidates)
    facts = _layout_facts(hasher) | {"database": len(base), "queries": len(asked), "metric": metric}
    _show(facts, found, f"the {k} nearest ({metric})" if both is None else "the same class", as_json=as_json)


def _layout_facts(hasher: Hasher) -> dict[str, Any]:
    layout = hasher.layout_
    return {"method": type(hasher).__name__, "n_symbols": layout.n_symbols, "arity": layout.arity, "bits": layout.bits}


def _show(facts: dict[str, Any], found: dict[str, float], relevant: str, *, as_json: bool) -> None:
    """Print the metrics, with the facts as one JSON object or in a first line of text."""
    if as_json:
        click.echo(json.dumps(facts | {name: round(value, 6) for name, value in found.items()}))
        return
    click.echo(
        "{method}, {n_symbols} symbols of arity {arity} ({bits} bits); {database} vectors, {queries} queries; "
        "relevant: ".format(**facts)
        + relevant
    )
    for name, value in found.items():
        click.echo(f"{name:<56} {value:.4f}")


Parts = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]


def _split(
    data: Dataset,
    classes: NDArray[Any] | None,
    queries: Path | None,
    query_labels: Path | None,
    n_queries: int | None,
    seed: int,
) -> Parts:
    """Database and queries, each with its labels."""
    from ..datasets import read_dataset
    from ..evaluation.held_out import hold_out

    given = data.queries if queries is None else read_dataset(queries).vectors
    if given is not None:
        if classes is not None and query_labels is None:
            raise InvalidInputError("the labels of the file --queries are missing; name them with --query-labels")
        asked_classes = None if query_labels is None else _labels(query_labels, len(given))
        return data.vectors, given, classes, asked_classes
    n = len(data.vectors)
    kept, held = hold_out(n, min(1000, max(1, n // 10)) if n_queries is None else n_queries, seed)
    parts = (None, None) if classes is None else (classes[kept], classes[held])
    return data.vectors[kept], data.vectors[held], *parts


def _unfitted(method: str, bits: int | None, given: dict[str, Any], settings: tuple[str, ...]) -> Hasher:
    """The hasher that the options describe; variants such as "JRSH radius 2" have names, too."""
    from ..evaluation.methods import choose_methods

    chosen = choose_methods([method])[0]
    known = {name: value for name, value in given.items() if value is not None}
    return make_hasher(chosen.hasher, chosen.parameters | known | {"n_bits": bits}, settings)


def _labels(path: Path, n: int) -> NDArray[Any]:
    labels = _common.read_labels(str(path))
    if labels.shape[:1] != (n,):
        n_labels = labels.shape[0] if labels.ndim else 0
        raise InvalidInputError(f"{path} holds {n_labels} labels, but there are {n} vectors")
    return labels

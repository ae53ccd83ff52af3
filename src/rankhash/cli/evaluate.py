"""``rankhash evaluate``: how good a hasher is for your own vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from ..datasets import Dataset, load_dataset, read_dataset
from ..errors import InvalidInputError
from ..evaluation.methods import choose_methods
from ..evaluation.own import evaluate, hold_out
from ..evaluation.truth import METRICS
from ..hashers import Hasher, load_hasher
from . import _common

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(
    epilog=_common.examples(
        "rankhash evaluate vectors.npy --method jrsh --bits 64",
        "rankhash evaluate vectors.npy --hasher hasher.safetensors --labels labels.npy --json",
    )
)
@click.argument("vectors")
@click.option("--hasher", "hasher_file", type=FILE, help="A fitted hasher that was saved; else --method is fitted.")
@click.option("--method", default="JRSH", show_default=True, help="The method to fit on the database.")
@click.option("--bits", type=click.IntRange(1), default=64, show_default=True, help="Bits of a code, for --method.")
@click.option(
    "--labels", type=FILE, help="Classes of the vectors (.npy): relevant is what shares one; else the k nearest."
)
@click.option("--queries", type=FILE, help="Vectors to search with; else some of VECTORS are held out.")
@click.option("--query-labels", type=FILE, help="Classes of the queries, if these are in a file of their own.")
@click.option("--n-queries", type=click.IntRange(1), help="Vectors to hold out; a tenth, at most 1000, if not given.")
@click.option(
    "--metric", type=click.Choice(METRICS), default="euclidean", show_default=True, help="What makes neighbours near."
)
@click.option("-k", type=click.IntRange(1), default=10, show_default=True, help="Neighbours to look for.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the held-out queries and the fit."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a program to read.")
def command(
    vectors: str,
    hasher_file: Path | None,
    method: str,
    bits: int,
    labels: Path | None,
    queries: Path | None,
    query_labels: Path | None,
    n_queries: int | None,
    metric: str,
    k: int,
    seed: int,
    as_json: bool,
) -> None:
    """Say how well codes find the true neighbours, or the class, of queries among VECTORS.

    VECTORS is a file (.npy .npz .fvecs .bvecs .mat .mtx .hdf5) or the name of a data set, such as digits. Queries are
    never in the database.
    """
    data = load_dataset(vectors)
    classes = _labels(labels, len(data.vectors)) if labels else None
    base, asked, base_classes, asked_classes = _split(data, classes, queries, query_labels, n_queries, seed)
    hasher = _hasher(hasher_file, method, bits, seed, base, base_classes)
    both = None if base_classes is None else (base_classes, asked_classes)
    found = evaluate(hasher, base, asked, labels=both, k=k, metric=metric)
    layout = hasher.layout_
    facts = {"method": type(hasher).__name__, "n_symbols": layout.n_symbols, "arity": layout.arity, "bits": layout.bits}
    facts |= {"database": len(base), "queries": len(asked), "metric": metric}
    if as_json:
        click.echo(json.dumps(facts | {name: round(value, 6) for name, value in found.items()}))
        return
    click.echo(
        f"{facts['method']}, {layout.n_symbols} symbols of arity {layout.arity} ({layout.bits} bits); "
        f"{len(base)} vectors, {len(asked)} queries; relevant: "
        + (f"the {k} nearest ({metric})" if both is None else "the same class")
    )
    for name, value in found.items():
        click.echo(f"{name:<45} {value:.4f}")


Parts = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]


def _split(
    data: Dataset,
    classes: NDArray[Any] | None,
    queries: Path | None,
    query_labels: Path | None,
    n_queries: int | None,
    seed: int,
) -> Parts:
    """Database and queries with their classes."""
    given = data.queries if queries is None else read_dataset(queries).vectors
    if given is not None:
        if classes is not None and query_labels is None:
            raise InvalidInputError("the queries have a file of their own, so their classes are needed: --query-labels")
        asked_classes = None if query_labels is None else _labels(query_labels, len(given))
        return data.vectors, given, classes, asked_classes
    n = len(data.vectors)
    kept, held = hold_out(n, min(1000, max(1, n // 10)) if n_queries is None else n_queries, seed)
    parts = (None, None) if classes is None else (classes[kept], classes[held])
    return data.vectors[kept], data.vectors[held], *parts


def _hasher(
    path: Path | None, method: str, bits: int, seed: int, base: NDArray[Any], classes: NDArray[Any] | None
) -> Hasher:
    if path is not None:
        return load_hasher(path)
    chosen = choose_methods([method])[0]
    hasher = chosen.make(chosen.layout("bits", bits), seed)
    return hasher.fit(base, classes)


def _labels(path: Path, n: int) -> NDArray[Any]:
    try:
        labels: NDArray[Any] = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InvalidInputError(f"{path} cannot be read as .npy: {error}") from error
    if len(labels) != n:
        raise InvalidInputError(f"{path} holds {len(labels)} classes, but there are {n} vectors")
    return labels

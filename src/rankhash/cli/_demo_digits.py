"""Handwritten digits for ``rankhash demo``: a comparison of methods, a query, and a report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from .._kernels import cpu_info
from ..collection import Collection
from ..datasets import load_dataset
from ..evaluation.held_out import hold_out
from ..evaluation.methods import choose_methods
from ..evaluation.metrics import mean, neighbor_recall
from ..evaluation.run import Experiment
from ..evaluation.store import Store
from ..evaluation.truth import exact_neighbors
from ..hashers import JRSH, LSH, SRSH, WTA, Hasher
from ..index import FlatIndex
from .reproduce import run, write

K = 10
LENGTHS = (8, 16, 32, 64)
RUNS = 2
METHODS = ("LSH", "WTA", "ITQ", "SpectralHashing", "RSH", "SRSH", "JRSH")
"""Methods in the demo's report; ``rankhash reproduce digits`` compares all methods."""


def show_digits() -> None:
    """Compare hashers on digits, and draw the neighbours that the default hasher finds."""
    data = load_dataset("digits")
    assert data.labels is not None
    kept, held = hold_out(len(data.vectors), 297, 0)
    base, queries = data.vectors[kept], data.vectors[held]
    truth = exact_neighbors(queries, base, K).ids
    classes = data.labels[kept], data.labels[held]
    click.echo(f"{len(base)} digits of 64 pixels, {len(queries)} queries, {K} neighbours; kernels: {cpu_info().isa}\n")
    click.echo(f"{'hasher':42} {'bytes':>5} {'same digit':>10} {'true neighbours':>15} {'µs/query':>10}")
    for hasher, learns in hashers():
        compare(hasher.fit(base, classes[0] if learns else None), learns, base, queries, classes, truth)
    found = compare_collection(base, queries, classes, truth)
    click.echo("\nOne query and what was found:\n")
    click.echo(side_by_side([queries[0], *base[found[0, :5]]]))


def hashers() -> list[tuple[Hasher, bool]]:
    """The hashers to compare, at 64 bits per digit, and whether each learns from labels or from the pixels alone."""
    return [
        (WTA(n_symbols=32, arity=4, random_state=0), False),
        (LSH(n_symbols=64, center=True, random_state=0), False),
        (SRSH(n_symbols=32, arity=4, random_state=0), False),
        (JRSH(random_state=0, verbose=False), False),
        (JRSH(random_state=0, verbose=False), True),
    ]


def compare(
    hasher: Hasher,
    learns: bool,
    base: NDArray[Any],
    queries: NDArray[Any],
    classes: tuple[Any, Any],
    truth: NDArray[Any],
) -> NDArray[np.int64]:
    """The ids that a search finds, after one line about their quality was printed."""
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(base))
    codes = hasher.encode(queries)
    start = time.perf_counter()
    found = index.search(codes, k=K).ids
    micros = (time.perf_counter() - start) / len(queries) * 1e6
    layout = hasher.layout_
    source = ", from labels" if learns else ""
    name = f"{type(hasher).__name__}, {layout.n_symbols} symbols of arity {layout.arity}{source}"
    _line(name, layout.n_bytes, found, truth, classes, micros)
    return found


def compare_collection(
    base: NDArray[Any], queries: NDArray[Any], classes: tuple[Any, Any], truth: NDArray[Any]
) -> NDArray[np.int64]:
    """The ids that a collection without a hasher finds, after one line about their quality was printed."""
    with Collection.create(":memory:", metric="euclidean", store_vectors="float16") as collection:
        collection.add(base)
        collection.search(queries[:1], K)
        start = time.perf_counter()
        found = collection.search(queries, K).ids.astype(np.int64)
        micros = (time.perf_counter() - start) / len(queries) * 1e6
    _line("Collection without a hasher", 2 * base.shape[1], found, truth, classes, micros)
    return found


def _line(
    name: str, n_bytes: int, found: NDArray[Any], truth: NDArray[Any], classes: tuple[Any, Any], micros: float
) -> None:
    same, recall = (classes[0][found] == classes[1][:, None]).mean(), mean(neighbor_recall(found, truth))
    click.echo(f"{name:42} {n_bytes:5} {same:10.1%} {recall:15.1%} {micros:10.1f}")


def report(out: Path) -> None:
    """Run the paper's protocol twice on the digits, and write the report."""
    known = {method.name for method in choose_methods()}
    methods = tuple(choose_methods(name for name in METHODS if name in known))
    experiment = Experiment(load_dataset("digits"), methods, LENGTHS, seeds=tuple(range(100, 100 + RUNS)))
    store = Store(out / "raw")
    write([experiment], store, out, run(experiment, store, jobs=1))


def side_by_side(images: list[NDArray[Any]]) -> str:
    """Images of 8 × 8 pixels as text, side by side."""
    shades = " .:oO@"
    rows = []
    for y in range(8):
        parts = ["".join(2 * shades[int(v * 5 // 16)] for v in image.reshape(8, 8)[y]) for image in images]
        rows.append("  │ ".join(parts))
    return "\n".join(rows)

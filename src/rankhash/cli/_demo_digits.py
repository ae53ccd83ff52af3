"""Handwritten digits for ``rankhash demo``: a query, a comparison of methods, and a report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from .._kernels import cpu_info, default_threads
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
    """Draw the neighbours that a collection finds, say how good they are, and compare hashers at a few bytes."""
    data = load_dataset("digits")
    assert data.labels is not None
    kept, held = hold_out(len(data.vectors), 297, 0)
    base, queries = data.vectors[kept], data.vectors[held]
    truth = exact_neighbors(queries, base, K).ids
    classes = data.labels[kept], data.labels[held]
    click.echo(f"{len(base)} handwritten digits, and {len(queries)} others as queries; kernels: {cpu_info().isa}\n")
    found, micros = search_collection(base, queries)
    same, recall = quality(found, truth, classes)
    click.echo(
        f"A collection, with nothing to choose, finds {recall:.0%} of the {K} true nearest in {micros:.0f} µs per "
        f"query; {same:.0%} show the same digit.\n\nA query and its five nearest:\n"
    )
    click.echo(side_by_side([queries[0], *base[found[0, :5]]]))
    click.echo("\nNow codes of a few bytes instead of the vectors:\n")
    click.echo(f"{'hasher':42} {'bytes':>5} {'same digit':>10} {'true neighbours':>15} {'µs/query':>10}")
    for hasher, learns in hashers():
        compare(hasher.fit(base, classes[0] if learns else None), learns, base, queries, classes, truth)


def hashers() -> list[tuple[Hasher, bool]]:
    """The hashers to compare, and whether each learns from labels or from the pixels alone."""
    return [
        (WTA(n_symbols=32, arity=4, random_state=0), False),
        (LSH(n_symbols=64, center=True, random_state=0), False),
        (SRSH(n_symbols=32, arity=4, random_state=0), False),
        (JRSH(random_state=0, verbose=False), False),
        (JRSH(n_bytes=2, random_state=0, verbose=False), True),
    ]


def search_collection(base: NDArray[Any], queries: NDArray[Any]) -> tuple[NDArray[np.int64], float]:
    """The ids that a collection without a hasher finds, and the microseconds per query."""
    with Collection.create(":memory:", metric="euclidean", store_vectors="float16") as collection:
        collection.add(base)
        collection.search(queries[:1], K)
        start = time.perf_counter()
        found = collection.search(queries, K).ids.astype(np.int64)
        return found, (time.perf_counter() - start) / len(queries) * 1e6


def compare(
    hasher: Hasher,
    learns: bool,
    base: NDArray[Any],
    queries: NDArray[Any],
    classes: tuple[Any, Any],
    truth: NDArray[Any],
) -> None:
    """Print one line about what the codes of a hasher find; those learned from labels are not to find neighbours."""
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(base))
    codes = hasher.encode(queries)
    start = time.perf_counter()
    found = index.search(codes, k=K).ids
    micros = (time.perf_counter() - start) / len(queries) * 1e6
    layout = hasher.layout_
    source = ", from labels" if learns else ""
    name = f"{type(hasher).__name__}, {layout.n_symbols} symbols of arity {layout.arity}{source}"
    same, recall = quality(found, truth, classes)
    shown = "-" if learns else f"{recall:.1%}"
    click.echo(f"{name:42} {layout.n_bytes:5} {same:10.1%} {shown:>15} {micros:10.1f}")


def quality(found: NDArray[Any], truth: NDArray[Any], classes: tuple[Any, Any]) -> tuple[float, float]:
    """The shares of what was found that shows the query's digit, and that is among the true nearest."""
    return float((classes[0][found] == classes[1][:, None]).mean()), mean(neighbor_recall(found, truth))


def report(out: Path) -> None:
    """Run the paper's protocol twice on the digits, and write the report."""
    known = {method.name for method in choose_methods()}
    methods = tuple(choose_methods(name for name in METHODS if name in known))
    experiment = Experiment(load_dataset("digits"), methods, LENGTHS, seeds=tuple(range(100, 100 + RUNS)))
    store = Store(out / "raw")
    write([experiment], store, out, run(experiment, store, jobs=min(2, default_threads())))


def side_by_side(images: list[NDArray[Any]]) -> str:
    """Images of 8 × 8 pixels as text, side by side."""
    shades = " .:oO@"
    rows = []
    for y in range(8):
        parts = ["".join(2 * shades[int(v * 5 // 16)] for v in image.reshape(8, 8)[y]) for image in images]
        rows.append("  │ ".join(parts))
    return "\n".join(rows)

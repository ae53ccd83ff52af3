"""``rankhash demo``: handwritten digits, hashed, searched and compared, with a report to look at."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from .._kernels import cpu_info
from ..datasets import load_dataset
from ..evaluation.methods import choose_methods
from ..evaluation.metrics import mean, neighbor_recall
from ..evaluation.own import hold_out
from ..evaluation.run import Experiment
from ..evaluation.store import Store
from ..evaluation.truth import exact_neighbors
from ..hashers import LSH, RSH, SRSH, WTA, Hasher
from ..index import FlatIndex
from . import _common
from .reproduce import run, write

K = 10
LENGTHS = (8, 16, 32, 64)
RUNS = 2
METHODS = ("LSH", "WTA", "ITQ", "SpectralHashing", "RSH", "SRSH", "JRSH")
"""What the demo's report compares, as far as the library has it; all methods: ``rankhash reproduce digits``."""


@click.command(epilog=_common.examples("rankhash demo", "rankhash demo --out digits"))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("rankhash-demo"), show_default=True
)
def command(out: Path) -> None:
    """Learn codes of 1797 handwritten digits, search them, say how good the answers are, and write a report."""
    data = load_dataset("digits")
    assert data.labels is not None
    kept, held = hold_out(len(data.vectors), 297, 0)
    base, queries = data.vectors[kept], data.vectors[held]
    truth = exact_neighbors(queries, base, K).ids
    classes = data.labels[kept], data.labels[held]
    click.echo(f"{len(base)} digits of 64 pixels, {len(queries)} queries, {K} neighbours; kernels: {cpu_info().isa}\n")
    click.echo(f"{'hasher':42} {'bytes':>5} {'same digit':>10} {'true neighbours':>15} {'µs a query':>10}")
    found = truth
    for hasher, learns in hashers():
        found = compare(hasher.fit(base, classes[0] if learns else None), learns, base, queries, classes, truth)
    click.echo("\nOne query and what was found:\n")
    click.echo(side_by_side([queries[0], *base[found[0, :5]]]))
    click.echo("\nNow the paper's experiments, in short (rankhash reproduce does them in full):")
    report(out)


def hashers() -> list[tuple[Hasher, bool]]:
    """What is compared, at 64 bits a digit, and whether it learns from the classes or from the pixels alone."""
    return [
        (WTA(n_symbols=32, arity=4, random_state=0), False),
        (LSH(n_symbols=64, center=True, random_state=0), False),
        (RSH(n_symbols=32, arity=4, random_state=0), False),
        (SRSH(n_symbols=32, arity=4, random_state=0), False),
        (SRSH(n_symbols=32, arity=4, random_state=0), True),
    ]


def compare(
    hasher: Hasher,
    learns: bool,
    base: NDArray[Any],
    queries: NDArray[Any],
    classes: tuple[Any, Any],
    truth: NDArray[Any],
) -> NDArray[np.int64]:
    """Index, search, print one line; the ids that were found."""
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(base))
    codes = hasher.encode(queries)
    start = time.perf_counter()
    found = index.search(codes, k=K).ids
    micros = (time.perf_counter() - start) / len(queries) * 1e6
    same = (classes[0][found] == classes[1][:, None]).mean()
    layout = hasher.layout_
    source = ", from labels" if learns else ""
    name = f"{type(hasher).__name__}, {layout.n_symbols} symbols of arity {layout.arity}{source}"
    recall = mean(neighbor_recall(found, truth))
    click.echo(f"{name:42} {layout.n_bytes:5} {same:10.1%} {recall:15.1%} {micros:10.1f}")
    return found


def report(out: Path) -> None:
    """Two runs of the paper's protocol on the digits, and the page that shows them."""
    known = {method.name for method in choose_methods()}
    methods = tuple(choose_methods(name for name in METHODS if name in known))
    experiment = Experiment(load_dataset("digits"), methods, LENGTHS, seeds=tuple(range(100, 100 + RUNS)))
    store = Store(out / "raw")
    write([experiment], store, out, run(experiment, store, jobs=1))


def side_by_side(images: list[NDArray[Any]]) -> str:
    """Digits of 8 × 8 pixels as text."""
    shades = " .:oO@"
    rows = []
    for y in range(8):
        parts = ["".join(2 * shades[int(v * 5 // 16)] for v in image.reshape(8, 8)[y]) for image in images]
        rows.append("  │ ".join(parts))
    return "\n".join(rows)

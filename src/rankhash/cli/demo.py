"""``rankhash demo``: handwritten digits, hashed, searched and compared, with a report to look at."""

from __future__ import annotations

import threading
import time
import webbrowser
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
from . import _common, _demo_collections
from .reproduce import run, write

K = 10
LENGTHS = (8, 16, 32, 64)
RUNS = 2
METHODS = ("LSH", "WTA", "ITQ", "SpectralHashing", "RSH", "SRSH", "JRSH")
"""What the demo's report compares, as far as the library has it; all methods: ``rankhash reproduce digits``."""


@click.command(epilog=_common.examples("rankhash demo", "rankhash demo --out digits", "rankhash demo --serve --open"))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("rankhash-demo"), show_default=True
)
@click.option("--serve", "page", is_flag=True, help="Instead, serve the digits and a page to search them by looking.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="For --serve; 0: any.")
@click.option("--open", "look", is_flag=True, help="With --serve, open the page in a browser.")
def command(out: Path, page: bool, port: int, look: bool) -> None:
    """Learn codes of 1797 handwritten digits, search them, say how good the answers are, and write a report."""
    if page:
        serve(port, look=look)
        return
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


def serve(port: int, *, look: bool) -> None:
    """Serve the demo's collections until the process is told to stop."""
    try:
        from ..server.app import create_app
        from ..server.run import run
    except ImportError as error:
        raise click.ClickException(
            f"--serve needs the extra server: pip install 'rankhash[server]' ({error})"
        ) from None
    from ..server.settings import Settings

    settings = Settings(port=port)
    click.echo("Learning codes of the digits …")
    collections = _demo_collections.make()
    try:
        run(create_app(collections, settings), settings, started=lambda address: show(address, look=look))
    finally:
        for collection in collections.values():
            collection.close()


def show(address: str, *, look: bool) -> None:
    """Say where the page is, and open it if that is wanted."""
    click.echo(f"The page is at {address} (Ctrl-C ends it)")
    if look:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


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

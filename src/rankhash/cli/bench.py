"""``rankhash bench``: search times on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import click
import numpy as np

from .._kernels import cpu_info
from ..codes import CodeLayout
from ..index import FlatIndex
from . import _common


@click.command(
    epilog=_common.examples(
        "rankhash bench", "rankhash bench --n 100000 --n-symbols 16 --arity 16", "rankhash bench items.rankhash --json"
    )
)
@click.argument("collection", type=_common.existing, required=False)
@click.option(
    "--n", type=click.IntRange(1, 1 << 28), default=1_000_000, show_default=True, help="Number of random codes."
)
@click.option("--n-symbols", type=int, default=32, show_default=True, help="Symbols per random code.")
@click.option("--arity", type=int, default=4, show_default=True, help="Values per symbol.")
@click.option("-k", type=int, default=10, show_default=True, help="Number of neighbours per query.")
@click.option("--batch", type=click.IntRange(1, 4096), default=64, show_default=True, help="Queries per batch.")
@click.option(
    "--repeats", type=click.IntRange(1, 1000), default=11, show_default=True, help="Repetitions; medians are reported."
)
@_common.as_json_option
def command(
    collection: str | None, n: int, n_symbols: int, arity: int, k: int, batch: int, repeats: int, as_json: bool
) -> None:
    """Measure exact searches in the file COLLECTION, with some of its own items as queries, or in random codes.

    Times are medians of wall-clock times, with all cores that this process may use.
    """
    if collection is None:
        layout = CodeLayout(n_symbols, arity)
        rng = np.random.default_rng(0)
        index = FlatIndex(layout)
        for start in range(0, n, 1 << 18):
            index.add(layout.pack(rng.integers(0, arity, (min(1 << 18, n - start), n_symbols), dtype=np.uint8)))
        queries = index.get(rng.integers(0, n, batch))
        searches: dict[str, Callable[[], object]] = {
            "one query": lambda: index.search(queries[:1], k),
            f"batch of {batch}": lambda: index.search(queries, k),
        }
        _report(searches, n, layout, batch, repeats, as_json=as_json)
        return
    from ..collection import Collection

    with Collection.open(collection) as items:
        ids = items.ids()[:batch]
        if not ids:
            raise click.UsageError(f"{collection} holds no items.")
        searches = {
            "one query": lambda: items.search_ids(ids[:1], k),
            f"batch of {len(ids)}": lambda: items.search_ids(ids, k),
        }
        _report(searches, len(items), items.layout, len(ids), repeats, as_json=as_json)


def _report(
    searches: dict[str, Callable[[], object]],
    n: int,
    layout: CodeLayout | None,
    batch: int,
    repeats: int,
    *,
    as_json: bool,
) -> None:
    info = cpu_info()
    bits = None if layout is None else layout.bits
    facts: dict[str, object] = {"n_codes": n, "bits": bits, "isa": info.isa, "n_threads": info.n_threads}
    for (name, search), n_queries in zip(searches.items(), (1, batch), strict=True):
        search()
        milliseconds = 1e3 * median(_seconds(search) for _ in range(repeats))
        facts[f"{name}, ms per query"] = round(milliseconds / n_queries, 4)
        facts[f"{name}, ns per code and query"] = round(1e6 * milliseconds / n_queries / n, 4)
    _common.show(facts, as_json=as_json)


def _seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started

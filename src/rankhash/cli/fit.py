"""``rankhash fit``: learn a hasher from vectors."""

from __future__ import annotations

import time
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInputError
from ..hashers import HASHERS
from ..readers import open_vectors
from . import _common
from ._hasher_options import DEFAULT, hasher_options, make_hasher

METHODS = {name.lower(): name for name in sorted(HASHERS)}


@click.command(
    epilog=_common.examples(
        "rankhash fit vectors.npy --out hasher.safetensors",
        "rankhash fit vectors.npy --out hasher.safetensors --labels labels.npy --method srsh --n-symbols 32",
        "rankhash fit vectors.npy --out hasher.safetensors --method lsh --set orthogonal=false",
    )
)
@click.argument("vectors", type=str)
@click.option("--out", required=True, type=click.Path(dir_okay=False), help="The hasher file to write.")
@click.option(
    "--method", type=click.Choice(sorted(METHODS)), default=DEFAULT.lower(), show_default=True, help="The hasher."
)
@hasher_options
@click.option("--labels", type=_common.existing, help="Class labels: a 1D .npy, or a text file with one per line.")
@click.option("--limit", type=int, default=100_000, show_default=True, help="Largest number of training vectors.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all random choices.")
@_common.key_option
@_common.as_json_option
def command(
    vectors: str,
    out: str,
    method: str,
    n_symbols: int | None,
    arity: int | None,
    labels: str | None,
    limit: int,
    seed: int,
    settings: tuple[str, ...],
    key: str | None,
    as_json: bool,
) -> None:
    """Fit a hasher on the file VECTORS (- for JSON lines on standard input) and write it to a file.

    If there are more vectors than --limit, a random sample of that size is used.
    """
    given = {"n_symbols": n_symbols, "arity": arity, "random_state": seed}
    hasher = make_hasher(METHODS[method], given, settings)
    X, rows = _sample(vectors, key, limit, seed)
    y = None if labels is None else _chosen_labels(labels, rows)
    started = time.perf_counter()
    hasher.fit(X, y)
    seconds = time.perf_counter() - started
    hasher.save(out)
    layout = hasher.layout_
    facts = {"path": out, "method": type(hasher).__name__, "n_symbols": layout.n_symbols, "arity": layout.arity}
    facts |= {"bits": layout.bits, "n_features": X.shape[1], "n_vectors": len(X), "seconds": round(seconds, 3)}
    _common.show(facts | {"fingerprint": layout.fingerprint}, as_json=as_json)


def _sample(path: str, key: str | None, limit: int, seed: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """A uniform random sample of at most ``limit`` rows of a file, and their row numbers; in the order of the file."""
    if limit < 1:
        raise click.UsageError(f"--limit must be positive, got {limit}")
    rng = np.random.default_rng(seed)
    kept, places, seen = np.empty((0, 0), np.float32), np.empty(0, np.int64), 0
    data = open_vectors(path, key)
    with _common.progress("reading", data.n_rows) as update:
        for block in data:
            rows = np.arange(seen, seen + len(block.vectors))
            if seen == 0:
                kept, places = block.vectors[:limit], rows[:limit]
                rest, rows = block.vectors[limit:], rows[limit:]
            else:
                room = limit - len(kept)
                kept = np.concatenate([kept, block.vectors[:room]]) if room else kept
                places = np.concatenate([places, rows[:room]])
                rest, rows = block.vectors[room:], rows[room:]
            targets = rng.integers(0, rows + 1) if len(rows) else rows  # reservoir sampling
            hits = np.flatnonzero(targets < limit)
            if len(hits):
                kept = kept.copy() if not kept.flags.writeable else kept
                kept[targets[hits]], places[targets[hits]] = rest[hits], rows[hits]
            seen += len(block.vectors)
            update(seen)
    order = np.argsort(places)
    return kept[order], places[order]


def _chosen_labels(path: str, rows: NDArray[np.int64]) -> NDArray[Any]:
    """The labels of the sampled rows."""
    labels = _common.read_labels(path)
    if labels.ndim != 1 or (len(rows) and rows.max() >= len(labels)):
        raise InvalidInputError(f"{path} must hold one label for each vector, got the shape {labels.shape}")
    return labels[rows]

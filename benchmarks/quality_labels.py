"""How well the comparison methods find vectors of the same class: results/quality_labels.json.

CIFAR-10 Gist: 1000 queries, 100 of each class; all others are the database; 5000 of these, 500 of each class, are
learned from ("all labels": the whole database). MNIST: the 60 000 training images are learned from, 20 000 of them are
the database; 2000 test images are queries ("unseen database": 6000 other test images instead). JRSH has arity 8, and
its codes take a bit less than is said. Vectors are scaled to unit length. Methods that take classes get them;
library defaults. ``map`` is the mean over queries of the average precision of the whole ranking by Hamming distance
(BSSC: weighted); equal distances count as their average over all orders.
"""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from machine import provenance, refuse_private_names
from quality_rsh import distances
from rankhash import BRE, BSSC, ITQ, JRSH, KSH, LSH, MLH, SDH, SPLH, Hasher, SpectralHashing
from sets import add_data_option, load

F32 = NDArray[np.float32]
RESULTS = Path(__file__).parent / "results" / "quality_labels.json"
BITS = (16, 32, 64)
KEY = ("set", "method", "bits", "seed")
BLOCK = 250

METHODS: dict[str, Callable[[int, int], Hasher]] = {
    "LSH": lambda bits, seed: LSH(bits, center=True, random_state=seed),
    "SpectralHashing": lambda bits, seed: SpectralHashing(bits, random_state=seed),
    "ITQ": lambda bits, seed: ITQ(bits, random_state=seed),
    "BRE": lambda bits, seed: BRE(bits, random_state=seed),
    "SPLH": lambda bits, seed: SPLH(bits, random_state=seed),
    "BSSC": lambda bits, seed: BSSC(bits, random_state=seed),
    "MLH": lambda bits, seed: MLH(bits, random_state=seed),
    "KSH": lambda bits, seed: KSH(bits, random_state=seed),
    "KSH, 1000 labels": lambda bits, seed: KSH(bits, max_points=1000, random_state=seed),
    "SDH": lambda bits, seed: SDH(bits, random_state=seed),
    "JRSH": lambda bits, seed: JRSH(bits // 3, random_state=seed),
    "JRSH, rbf": lambda bits, seed: JRSH(bits // 3, features="rbf", random_state=seed),
}


@dataclass(frozen=True)
class Labelled:
    """What is learned from, the database and the queries, each with classes."""

    train: tuple[F32, NDArray[Any]]
    database: tuple[F32, NDArray[Any]]
    queries: tuple[F32, NDArray[Any]]


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--bits", type=int, nargs="+", default=BITS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[100])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--show", action="store_true", help="print the tables of the kept results")
    options = parser.parse_args()
    if options.show:
        print(tables(kept()))
        return 0
    with threadpool_limits(1):
        for name in options.sets:
            for seed in options.seeds:
                data = SETS[name](options.data, seed)
                for method in options.methods:
                    keep([measure(data, name, method, bits, seed) for bits in options.bits])
    print(tables(kept()))
    return 0


def cifar(folder: Path, seed: int) -> Labelled:
    X, y = unit(*load(folder, "cifar10-gist"))
    order = np.random.default_rng(seed).permutation(len(X))
    rank = np.empty(len(X), int)  # the place of a vector among those of its class, in random order
    for label in np.unique(y):
        members = order[y[order] == label]
        rank[members] = np.arange(len(members))
    queries, train = rank < 100, (rank >= 100) & (rank < 600)
    return Labelled((X[train], y[train]), (X[~queries], y[~queries]), (X[queries], y[queries]))


def mnist(folder: Path, seed: int) -> Labelled:
    X, y = unit(*load(folder, "mnist"))
    rng = np.random.default_rng(seed)
    database, queries = rng.permutation(60_000)[:20_000], 60_000 + rng.permutation(10_000)[:2000]
    return Labelled((X[:60_000], y[:60_000]), (X[database], y[database]), (X[queries], y[queries]))


def mnist_unseen(folder: Path, seed: int) -> Labelled:
    data = mnist(folder, seed)
    X, y = unit(*load(folder, "mnist"))
    rows = 60_000 + np.random.default_rng(seed).permutation(10_000)
    queries, database = rows[:2000], rows[2000:8000]
    return replace(data, database=(X[database], y[database]), queries=(X[queries], y[queries]))


def cifar_all(folder: Path, seed: int) -> Labelled:
    data = cifar(folder, seed)
    return replace(data, train=data.database)


SETS: dict[str, Callable[[Path, int], Labelled]] = {
    "cifar10-gist": cifar,
    "cifar10-gist, all labels": cifar_all,
    "mnist": mnist,
    "mnist, unseen database": mnist_unseen,
}


def unit(X: NDArray[Any], y: NDArray[Any] | None) -> tuple[F32, NDArray[Any]]:
    assert y is not None
    vectors = X.astype(np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), y


def kept() -> list[dict[str, Any]]:
    return list(json.loads(RESULTS.read_text())["rows"]) if RESULTS.exists() else []


def keep(rows: list[dict[str, Any]]) -> None:
    """Add rows to the results, each with its commit, in place of those of the same method, seed and length."""
    origin = provenance()
    rows = [row | {"commit": origin["commit"]} for row in rows]
    new = {tuple(row[key] for key in KEY) for row in rows}
    merged = [row for row in kept() if tuple(row[key] for key in KEY) not in new] + rows
    merged.sort(key=lambda row: tuple(str(row[key]).zfill(4) for key in KEY))
    text = json.dumps({"provenance": origin | {"threads": 1, "load": os.getloadavg()}, "rows": merged}, indent=1)
    refuse_private_names(text)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def measure(data: Labelled, name: str, method: str, bits: int, seed: int) -> dict[str, Any]:
    hasher, start = METHODS[method](bits, seed), time.thread_time()
    hasher.fit(*data.train)
    seconds = time.thread_time() - start
    row = {"set": name, "method": method, "bits": bits, "seed": seed, "fit_cpu_seconds": round(seconds, 3)}
    row["map"] = round(mean_average_precision(hasher, data), 5)
    return row


def mean_average_precision(hasher: Hasher, data: Labelled) -> float:
    """The mean over queries of the average precision among the database, ties averaged."""
    (database, own), (queries, wanted) = data.database, data.queries
    codes, weights = hasher.transform(database), getattr(hasher, "weights_", None)
    values = []
    for start in range(0, len(queries), BLOCK):
        rows = slice(start, start + BLOCK)
        apart = distances(hasher.transform(queries[rows]), codes, weights)
        values += [tied_average_precision(a, own == label) for a, label in zip(apart, wanted[rows], strict=True)]
    return float(np.mean(values))


def tied_average_precision(apart: NDArray[Any], relevant: NDArray[np.bool_]) -> float:
    """The expected average precision of a ranking by distance if equal distances come in random order.

    Among t equal ones of which r are relevant, behind others of which m are, the i-th is relevant with probability
    r/t and then has m + 1 + (i - 1)(r - 1)/(t - 1) relevant ones up to itself.

    >>> round(tied_average_precision(np.array([0, 1, 1, 2]), np.array([True, False, True, False])), 4)
    0.9167
    """
    place = apart if apart.dtype.kind in "iu" else np.unique(apart, return_inverse=True)[1]
    size = np.bincount(place)
    hits = np.bincount(place[relevant], minlength=len(size))
    before, found = np.cumsum(size) - size, np.cumsum(hits) - hits
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, len(apart) + 1))])
    inverse = harmonic[before + size] - harmonic[before]
    growth = (hits - 1) / np.maximum(size - 1, 1)
    sums = (found + 1) * inverse + growth * (size - (before + 1) * inverse)
    return float((hits / np.maximum(size, 1) * sums).sum() / max(hits.sum(), 1))


def tables(rows: list[dict[str, Any]]) -> str:
    """Mean average precision by bits; the mean if there are several seeds."""
    parts = []
    for name in SETS:
        parts.append(f"\n{name}: mean average precision by bits\n{'':22}" + "".join(f"{bits:>8}" for bits in BITS))
        for method in METHODS:
            cells = [[r["map"] for r in rows if (r["set"], r["method"], r["bits"]) == (name, method, b)] for b in BITS]
            if any(cells):
                parts.append(f"{method:22}" + "".join(f"{np.mean(v):8.3f}" if v else f"{'–':>8}" for v in cells))
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())

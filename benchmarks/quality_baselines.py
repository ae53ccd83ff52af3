"""How well the comparison methods find metric neighbours, by the paper's protocol: results/quality_baselines.json.

Random splits of MNIST and CIFAR-10 Gist as ``sets.paper_split`` makes them: 1000 training vectors, which are also the
database, and 3000 queries. Methods that learn from pairs are given those of the training vectors, the others the
vectors alone; library defaults. Methods are compared at equal bits. Rows that were measured before stay unless they
are measured again, so that methods can be run one by one; ``--show`` prints the tables.

``ap`` is the area under the curve of precision over recall, one point a radius, pooled over all pairs of a query and a
vector of the database. ``ball`` is the mean over queries of the precision among the vectors within 0, 1, 2, 3 differing
symbols; a query that finds nothing counts 0. ``pooled`` is the precision among all pairs within as many. "WTA, raw"
hashes the vectors as they were before centring and reduction, whose dimensions have an order that means something.
"""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from machine import provenance, refuse_private_names
from rankhash import AGH, BRE, BSSC, ITQ, KLSH, KSH, LSH, MLH, SPLH, WTA, Hasher, SpectralHashing
from rankhash._ranking import average_precision
from sets import Split, add_data_option, load, paper_split

RESULTS = Path(__file__).parent / "results" / "quality_baselines.json"
SETS = ("mnist", "cifar10-gist")
BITS = (8, 16, 32, 64, 128)
RADII = 4
KEY = ("set", "method", "bits", "seed")

Make = Callable[[int, int], Hasher]
WITHOUT_PAIRS: dict[str, Make] = {
    "LSH": lambda bits, seed: LSH(bits, random_state=seed),
    "WTA": lambda bits, seed: WTA(bits // 2, 4, random_state=seed),
    "WTA, raw": lambda bits, seed: WTA(bits // 2, 4, random_state=seed),
    "KLSH": lambda bits, seed: KLSH(bits, random_state=seed),
    "SpectralHashing": lambda bits, seed: SpectralHashing(bits, random_state=seed),
    "ITQ": lambda bits, seed: ITQ(bits, random_state=seed),
    "AGH": lambda bits, seed: AGH(bits, random_state=seed),
    "AGH, two layers": lambda bits, seed: AGH(bits, layers=2, random_state=seed),
    "SPLH, no pairs": lambda bits, seed: SPLH(bits, random_state=seed),
    "BRE": lambda bits, seed: BRE(bits, random_state=seed),
}
WITH_PAIRS: dict[str, Make] = {
    "SPLH": lambda bits, seed: SPLH(bits, random_state=seed),
    "BSSC": lambda bits, seed: BSSC(bits, random_state=seed),
    "KSH": lambda bits, seed: KSH(bits, random_state=seed),
    "MLH": lambda bits, seed: MLH(bits, random_state=seed),
}
METHODS = WITHOUT_PAIRS | WITH_PAIRS


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--bits", type=int, nargs="+", default=BITS)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--first", type=int, default=100, help="seed of the first split")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--show", action="store_true", help="print the tables of the kept results")
    options = parser.parse_args()
    if options.show:
        print(tables(kept()))
        return 0
    with threadpool_limits(1):
        for name in SETS:
            X, _ = load(options.data, name)
            for seed in range(options.first, options.first + options.splits):
                split = paper_split(X, seed)
                raw = X[np.random.default_rng(seed).permutation(len(X))[: len(split.train) + len(split.queries)]]
                unreduced = replace(split, train=raw[: len(split.train)], queries=raw[len(split.train) :])
                for method in options.methods:
                    data = unreduced if method.endswith("raw") else split
                    keep([measure(data, name, method, bits, seed) for bits in options.bits])
    print(tables(kept()))
    return 0


def kept() -> list[dict[str, Any]]:
    return list(json.loads(RESULTS.read_text())["rows"]) if RESULTS.exists() else []


def keep(rows: list[dict[str, Any]]) -> None:
    """Add rows to the results, in place of those of the same method, split and length."""
    new = {tuple(row[key] for key in KEY) for row in rows}
    merged = [row for row in kept() if tuple(row[key] for key in KEY) not in new] + rows
    merged.sort(key=lambda row: tuple(str(row[key]).zfill(4) for key in KEY))
    text = json.dumps({"provenance": provenance() | {"threads": 1, "load": os.getloadavg()}, "rows": merged}, indent=1)
    refuse_private_names(text)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def measure(split: Split, name: str, method: str, bits: int, seed: int) -> dict[str, Any]:
    hasher, start = METHODS[method](bits, seed), time.thread_time()
    hasher.fit(split.train, similarity=split.neighbors if method in WITH_PAIRS else None)
    seconds = time.thread_time() - start
    queries, database = hasher.transform(split.queries), hasher.transform(split.train)
    apart = distances(queries, database)
    row = {"set": name, "method": method, "bits": bits, "seed": seed, "fit_cpu_seconds": round(seconds, 3)}
    row["ap"] = round(average_precision(apart, split.relevant), 5)
    row["ball"], row["pooled"] = ball_precision(apart, split.relevant)
    if hasattr(hasher, "weights_"):
        row["weighted_ap"] = round(average_precision(distances(queries, database, hasher.weights_), split.relevant), 5)
    for learned in ("rho_", "lam_"):
        if hasattr(hasher, learned):
            row[learned[:-1]] = float(getattr(hasher, learned)[0])
    return row


def distances(queries: NDArray[np.uint8], database: NDArray[np.uint8], weights: Any = None) -> NDArray[Any]:
    """The number, or the weight, of differing symbols of all queries and all codes of the database."""
    total = np.zeros((len(queries), len(database)), np.int16 if weights is None else np.float32)
    for symbol in range(queries.shape[1]):
        differ = queries[:, symbol, None] != database[:, symbol]
        total += differ if weights is None else np.float32(weights[symbol]) * differ
    return total


def ball_precision(apart: NDArray[Any], relevant: NDArray[np.bool_]) -> tuple[list[float], list[float]]:
    """The precision within 0, 1, … differing symbols: the mean over queries, and of all pairs; no find counts 0."""
    means, pooled = [], []
    for radius in range(RADII):
        near = apart <= radius
        hits, found = (near & relevant).sum(axis=1), near.sum(axis=1)
        means.append(round(float((hits / np.maximum(found, 1)).mean()), 5))
        pooled.append(round(float(hits.sum() / max(found.sum(), 1)), 5))
    return means, pooled


def tables(rows: list[dict[str, Any]]) -> str:
    """Average precision, mean ± standard deviation over the splits, by bits."""
    parts = []
    for name in SETS:
        parts.append(f"\n{name}: average precision by bits\n{'':22}" + "".join(f"{bits:>14}" for bits in BITS))
        for method in METHODS:
            for key, label in (("ap", method), ("weighted_ap", f"{method}, weighted")):
                cells = [
                    [r[key] for r in rows if (r["set"], r["method"], r["bits"]) == (name, method, bits) and key in r]
                    for bits in BITS
                ]
                if any(cells):
                    shown = (f"{np.mean(v):.3f} ± {np.std(v, ddof=1):.3f}" if len(v) > 1 else "–" for v in cells)
                    parts.append(f"{label:22}" + "".join(f"{cell:>14}" for cell in shown))
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())

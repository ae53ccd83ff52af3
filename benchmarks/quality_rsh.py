"""Average precision of RSH, SRSH, WTA and LSH on MNIST and CIFAR-10 Gist, by the paper's protocol.

Ten random splits of 1000 training vectors, which are also the database, and 3000 queries; library defaults.
Raw results go to ``results/quality_rsh.json``; ``--show`` prints the tables that they make.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from machine import provenance, refuse_private_names
from rankhash import LSH, RSH, SRSH, WTA, Hasher
from rankhash._ranking import average_precision
from sets import Split, add_data_option, load, paper_split

RESULTS = Path(__file__).parent / "results" / "quality_rsh.json"
SETS = ("mnist", "cifar10-gist")
LENGTHS = (8, 16, 32, 64)
RADII = (2, 3)
METHODS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "LSH": (lambda n, seed: LSH(n, random_state=seed), (*LENGTHS, 128)),
    "WTA": (lambda n, seed: WTA(n, 4, random_state=seed), LENGTHS),
    "RSH untrained": (lambda n, seed: RSH(n, learning_rate=0.0, random_state=seed), LENGTHS),
    "RSH": (lambda n, seed: RSH(n, random_state=seed), LENGTHS),
    "RSH batch": (lambda n, seed: RSH(n, mode="batch", random_state=seed), LENGTHS),
    "SRSH bound": (lambda n, seed: SRSH(n, update="bound", random_state=seed), LENGTHS),
    "SRSH hinge": (lambda n, seed: SRSH(n, random_state=seed), LENGTHS),
}


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=100, help="seed of the first split")
    parser.add_argument("--show", action="store_true", help="print the tables of the kept results")
    options = parser.parse_args()
    if options.show:
        print(tables(json.loads(RESULTS.read_text())["rows"]))
        return 0
    origin, rows = provenance(), []
    with threadpool_limits(1):
        for name in SETS:
            X, _ = load(options.data, name)
            for seed in range(options.first, options.first + options.splits):
                rows += run(name, paper_split(X, seed), seed)
    text = json.dumps({"provenance": origin, "rows": rows}, indent=1)
    refuse_private_names(text)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text + "\n")
    print(tables(rows))
    return 0


def run(name: str, split: Split, seed: int) -> list[dict[str, Any]]:
    rows = []
    for method, (make, lengths) in METHODS.items():
        for n_symbols in lengths:
            hasher: Hasher = make(n_symbols, seed)
            start = time.perf_counter()
            hasher.fit(split.train, similarity=split.neighbors)
            seconds = time.perf_counter() - start
            codes = hasher.transform(split.queries), hasher.transform(split.train)
            row = {"set": name, "seed": seed, "method": method, "n_symbols": n_symbols}
            row |= {"bits": hasher.layout_.bits, "seconds": round(seconds, 3)}
            apart = distances(*codes)
            row["ap"] = average_precision(apart, split.relevant)
            row |= {f"precision_{radius}": ball_precision(apart, split.relevant, radius) for radius in RADII}
            if isinstance(hasher, SRSH):
                row["weighted_ap"] = average_precision(distances(*codes, hasher.weights_), split.relevant)
            rows.append(row)
    return rows


def ball_precision(apart: NDArray[Any], relevant: NDArray[np.bool_], radius: int) -> float:
    """The share of true neighbours within a radius, the mean over queries; a query that finds nothing counts 0."""
    inside = apart <= radius
    return float(((inside & relevant).sum(axis=1) / np.maximum(inside.sum(axis=1), 1)).mean())


def distances(queries: NDArray[np.uint8], database: NDArray[np.uint8], weights: Any = None) -> NDArray[Any]:
    """The number, or the weight, of differing symbols of all queries and all codes of the database."""
    total = np.zeros((len(queries), len(database)), np.int16 if weights is None else np.float32)
    for symbol in range(queries.shape[1]):
        differ = queries[:, symbol, None] != database[:, symbol]
        total += differ if weights is None else np.float32(weights[symbol]) * differ
    return total


def tables(rows: list[dict[str, Any]]) -> str:
    """Mean ± standard deviation over the splits, by symbols and by bits, and the precision within small radii."""
    shown = [("ap", "n_symbols"), ("ap", "bits"), *((f"precision_{radius}", "n_symbols") for radius in RADII)]
    parts = []
    for name in SETS:
        for value, axis in shown:
            cells: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
            for row in rows:
                if row["set"] == name and value in row:
                    cells[row["method"]][row[axis]].append(row[value])
                    if value == "ap" and "weighted_ap" in row:
                        cells[row["method"] + ", weighted"][row[axis]].append(row["weighted_ap"])
            columns = sorted({column for line in cells.values() for column in line})
            parts.append(f"\n{name}, {value} by {axis}")
            parts.append(f"{'':22}" + "".join(f"{column:>13}" for column in columns))
            for method, line in cells.items():
                values = (line.get(column, []) for column in columns)
                texts = (f"{np.mean(v):.3f} ±{np.std(v, ddof=1):.3f}" if len(v) > 1 else "–" for v in values)
                parts.append(f"{method:22}" + "".join(f"{cell:>13}" for cell in texts))
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())

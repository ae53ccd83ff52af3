"""How well the codes of the comparison methods find metric neighbours: raw numbers to results/quality_baselines.json.

Run it as ``python benchmarks/quality_baselines.py --data FOLDER``; the folder, else that in RANKHASH_DATA, holds
mnist.npz and cifar10_gist512.npz.

The protocol: subtract the mean, scale to unit length; 1000 random vectors to learn from, which also are the
database, 3000 queries; similar is what is closer than the mean distance of the training vectors to the 50th entry
of their sorted row (themselves included), before 40 principal components are taken. Methods that learn from
pairs are given those of the training vectors. Average precision is the area under the curve of precision over
recall, one point a radius, pooled over all pairs of a query and a vector of the database.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from machine import provenance, refuse_private_names
from rankhash import ITQ, LSH, MLH, Hasher, SpectralHashing
from rankhash.evaluation import Split
from rankhash.evaluation.measure import measure
from sets import load, paper_split

OUT = Path(__file__).parent / "results" / "quality_baselines.json"

METHODS: dict[str, Callable[[int, int], Hasher]] = {
    "LSH": lambda bits, seed: LSH(bits, random_state=seed),
    "SpectralHashing": lambda bits, _: SpectralHashing(bits),
    "ITQ": lambda bits, seed: ITQ(bits, random_state=seed),
    "MLH": lambda bits, seed: MLH(bits, random_state=seed),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("RANKHASH_DATA"), help="folder with the data files")
    parser.add_argument("--bits", type=int, nargs="+", default=[8, 16, 32, 64])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("say where the data is: --data FOLDER or RANKHASH_DATA")
    origin, rows = {**provenance(), "threads": 1, "load": os.getloadavg()}, []
    with threadpool_limits(1):
        sets = {name: load(Path(arguments.data), name)[0] for name in ("mnist", "cifar10-gist")}
        for bits in arguments.bits:
            for name, vectors in sets.items():
                for seed in range(arguments.splits):
                    data = paper_split(vectors, seed)
                    rows += [run(data, name, method, bits, seed) for method in arguments.methods]
            text = json.dumps({"origin": origin, "rows": rows}, indent=1) + "\n"
            refuse_private_names(text)
            OUT.write_text(text, encoding="utf-8")
            show(rows, bits)


def run(data: Split, name: str, method: str, bits: int, seed: int) -> dict[str, Any]:
    hasher = METHODS[method](bits, seed)
    start = time.thread_time()
    hasher.fit(data.train, similarity=data.similarity)
    seconds = time.thread_time() - start
    precision = measure(hasher, data)["ap"]
    row = {"data": name, "method": method, "bits": bits, "split": seed, "average_precision": precision}
    if method == "MLH":
        row["rho"] = int(hasher.rho_[0])
    return {**row, "fit_cpu_seconds": round(seconds, 3)}


def show(rows: list[dict[str, Any]], bits: int) -> None:
    for name, method in sorted({(row["data"], row["method"]) for row in rows}):
        found = [r["average_precision"] for r in rows if (r["data"], r["method"], r["bits"]) == (name, method, bits)]
        print(f"{bits:4d} bits  {name:12s}  {method:16s}  {np.mean(found):.3f} ± {np.std(found):.3f}", flush=True)


if __name__ == "__main__":
    main()

"""How long JRSH learns, and how much memory that takes; every case in a process of its own.

Vectors are clustered but for MNIST. Each row has wall-clock time, CPU time and the peak memory of the process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness.processes import in_new_process, peak_megabytes
from harness.results import Facts, Row
from harness.running import Run
from harness.sets import clustered_vectors, load
from rankhash import JRSH


def cases(*, quick: bool) -> dict[str, Facts]:
    """Points, dimensions, symbols and BLAS threads of each fit, by name."""
    if quick:
        return {"1000 × 40, 16 bits": {"n": 1000, "d": 40, "n_symbols": 16, "threads": 1}}
    small = {"n": 1000, "d": 40, "threads": 1}
    found: dict[str, Facts] = {f"1000 × 40, {n} bits": {**small, "n_symbols": n} for n in (16, 32, 64, 128)}
    found |= {
        f"{n} × 128, 64 bits": {"n": n, "d": 128, "n_symbols": 64, "threads": 2} for n in (10_000, 100_000, 1_000_000)
    }
    found["10000 × 1536, 64 bits"] = {"n": 10_000, "d": 1536, "n_symbols": 64, "threads": 2}
    found["100000 × 384, 128 bits"] = {"n": 100_000, "d": 384, "n_symbols": 128, "threads": 2}
    pixels = {"set": "mnist", "n": 60_000, "threads": 2}
    found["MNIST 60000 × 784, 64 bits"] = {**pixels, "n_symbols": 64, "classes": False}
    found["MNIST 60000 × 784, classes, rbf, 63 bits"] = {**pixels, "n_symbols": 21, "classes": True}
    return found


def rows(run: Run) -> Iterator[Row]:
    """One row per case."""
    known = cases(quick=run.quick)
    for key in run.wanted({"case": name} for name in known):
        case = known[key["case"]]
        yield Row(key, case | in_new_process(fit, case, run.data, blas_threads=case["threads"]))


def fit(case: Facts, folder: Path) -> Facts:
    """Seconds and peak memory of one fit in this process."""
    y = None
    if "set" in case:
        data = load(folder, case["set"])
        assert data.labels is not None
        X, y = data.vectors[: case["n"]].astype(np.float32), data.labels[: case["n"]] if case["classes"] else None
    else:
        X = clustered_vectors(case["n"], case["d"], last=0.1, noise=0.5)
    hasher = JRSH(case["n_symbols"], features="rbf" if y is not None else "linear", random_state=0, verbose=False)
    start, cpu = time.perf_counter(), time.process_time()
    hasher.fit(X, y)
    facts = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    return {**{key: round(value, 2) for key, value in facts.items()}, "peak_mb": round(peak_megabytes())}

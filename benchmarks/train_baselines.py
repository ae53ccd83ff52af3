"""How long the comparison methods take to fit and to encode: results/train_baselines.json.

All of them on 1000 vectors of 40 dimensions (MNIST after PCA, its classes or neighbours as the method takes them), 32
bits; LSH, SpectralHashing, ITQ and AGH also on a million clustered vectors of 128 dimensions, 64 bits. CPU seconds of
the process with one thread; the memory is the most that NumPy held during the fit beside the input.
"""

from __future__ import annotations

import json
import os
import sys
import time
import tracemalloc
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from machine import provenance, refuse_private_names
from rankhash import (
    AGH,
    BRE,
    BSSC,
    ITQ,
    KLSH,
    KSH,
    LSH,
    MLH,
    SDH,
    SPLH,
    WTA,
    Hasher,
    MinHash,
    SpectralHashing,
)
from sets import add_data_option, load, paper_split

RESULTS = Path(__file__).parent / "results" / "train_baselines.json"
SMALL: list[Callable[[], Hasher]] = [
    lambda: LSH(32, random_state=0),
    lambda: WTA(16, 4, random_state=0),
    lambda: MinHash(16, 4, random_state=0),
    lambda: KLSH(32, random_state=0),
    lambda: SpectralHashing(32),
    lambda: ITQ(32, random_state=0),
    lambda: AGH(32, random_state=0),
    lambda: AGH(32, layers=2, random_state=0),
    lambda: SPLH(32, random_state=0),
    lambda: BSSC(32, random_state=0),
    lambda: BRE(32, random_state=0),
    lambda: KSH(32, random_state=0),
    lambda: SDH(32, random_state=0),
    lambda: MLH(32, random_state=0),
]
LARGE: list[Callable[[], Hasher]] = [
    lambda: LSH(64, center=True, random_state=0),
    lambda: SpectralHashing(64),
    lambda: ITQ(64, random_state=0),
    lambda: AGH(64, random_state=0),
    lambda: AGH(64, layers=2, random_state=0),
]


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--n", type=int, default=1_000_000, help="vectors of the large set")
    options = parser.parse_args()
    with threadpool_limits(1):
        X, y = load(options.data, "mnist")
        small = paper_split(X, 100)
        classes = y[np.random.default_rng(100).permutation(len(X))[:1000]]
        rows = []
        for make in SMALL:
            known = {"y": classes} if isinstance(make(), SDH) else {"similarity": small.neighbors}
            rows.append(measure(make, small.train, known))
        large = clustered(options.n, 128)
        rows += [measure(make, large, {}) for make in LARGE]
    text = json.dumps({"provenance": provenance() | {"threads": 1, "load": os.getloadavg()}, "rows": rows}, indent=1)
    refuse_private_names(text)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    return 0


def clustered(n: int, d: int) -> NDArray[np.float32]:
    """Vectors around a thousand centres, less spread in later dimensions."""
    rng = np.random.default_rng(0)
    spread = np.linspace(1, 0.2, d, dtype=np.float32)
    centres = rng.standard_normal((1000, d), np.float32) * spread
    vectors = np.empty((n, d), np.float32)
    for start in range(0, n, 100_000):
        part = vectors[start : start + 100_000]
        part[:] = centres[rng.integers(0, 1000, len(part))]
        part += np.float32(0.7) * spread * rng.standard_normal(part.shape, np.float32)
    return vectors


def measure(make: Callable[[], Hasher], vectors: NDArray[np.float32], known: dict[str, Any]) -> dict[str, Any]:
    hasher, start = make(), time.process_time()
    hasher.fit(vectors, **known)
    fitted = time.process_time()
    hasher.encode(vectors, n_threads=1)
    encoded = time.process_time()
    tracemalloc.start()
    make().fit(vectors, **known)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    n, d = vectors.shape
    row = {
        "method": type(hasher).__name__ + (", two layers" if getattr(hasher, "layers", 1) == 2 else ""),
        "n": n,
        "d": d,
        "bits": hasher.layout_.bits,
        "fit_seconds": round(fitted - start, 4),
        "encode_microseconds": round((encoded - fitted) / n * 1e6, 4),
        "fit_megabytes": round(peak / 2**20, 2),
    }
    print(row, flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main())

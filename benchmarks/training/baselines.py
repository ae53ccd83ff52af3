"""How long the comparison methods take to fit and to encode.

All of them on 1000 vectors of 40 dimensions (MNIST by the paper's protocol, with classes or neighbours as the method
takes them), 32 bits; those that scale with the number of vectors also on a million clustered vectors of 128
dimensions, 64 bits.
CPU seconds of the process with one thread; memory is the most that NumPy held during the fit besides the input.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import clustered_vectors, load, paper_split
from rankhash import (
    AGH,
    BRE,
    BSSC,
    CRO,
    DGH,
    HDML,
    ITQ,
    KLSH,
    KSH,
    LSH,
    MLH,
    SDH,
    SPLH,
    WTA,
    CGHash,
    ForgivingHash,
    Hasher,
    JSDBoosting,
    MinHash,
    PermutationCodes,
    SemanticHashing,
    SpectralHashing,
)
from rankhash._types import F32

SEED = 100
LARGE_SHAPE, QUICK_SHAPE = (1_000_000, 128), (2000, 128)
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
    lambda: DGH(32, random_state=0),
    lambda: CRO(16, 4, random_state=0),
    lambda: PermutationCodes(8, 16, random_state=0),
    lambda: HDML(32, random_state=0),
    lambda: CGHash(32, random_state=0),
    lambda: JSDBoosting(32, random_state=0),
    lambda: ForgivingHash(32, verbose=False, random_state=0),
    lambda: SemanticHashing(32, verbose=False, random_state=0),
]
LARGE: list[Callable[[], Hasher]] = [
    lambda: LSH(64, center=True, random_state=0),
    lambda: SpectralHashing(64),
    lambda: ITQ(64, random_state=0),
    lambda: AGH(64, random_state=0),
    lambda: AGH(64, layers=2, random_state=0),
    lambda: DGH(64, random_state=0),
    lambda: CRO(32, 4, random_state=0),
    lambda: CRO(32, 4, fast=True, random_state=0),
    lambda: PermutationCodes(16, 16, random_state=0),
]


def rows(run: Run) -> Iterator[Row]:
    """One row per method and shape of the vectors; a quick run has the digits and few large vectors."""
    shape = QUICK_SHAPE if run.quick else LARGE_SHAPE
    makers = {_name(make()): make for make in SMALL}
    small = ({"n": 1000, "d": 40, "bits": 32, "method": name} for name in makers)
    for key in run.wanted(small):
        vectors, known = _small(run.data, "digits" if run.quick else "mnist", key["method"])
        yield Row(key, measure(makers[key["method"]], vectors, known))
    makers = {_name(make()): make for make in LARGE}
    for key in run.wanted({"n": shape[0], "d": shape[1], "bits": 64, "method": name} for name in makers):
        yield Row(key, measure(makers[key["method"]], _large(*shape), {}))


def _name(hasher: Hasher) -> str:
    variant = (
        ", two layers" if getattr(hasher, "layers", 1) == 2 else ", fast" if getattr(hasher, "fast", False) else ""
    )
    return type(hasher).__name__ + variant


@lru_cache(maxsize=1)
def _large(n: int, d: int) -> F32:
    return clustered_vectors(n, d)


def _small(folder: Path, name: str, method: str) -> tuple[F32, Facts]:
    """1000 vectors, and classes or neighbours, whichever the method learns from."""
    data = load(folder, name)
    chosen = paper_split(data, SEED, n_queries=1)
    if method != "SDH":
        return chosen.train, {"similarity": chosen.similarity}
    assert data.labels is not None
    return chosen.train, {"y": data.labels[chosen.train_rows]}


def measure(make: Callable[[], Hasher], vectors: F32, known: Facts) -> Facts:
    """CPU seconds of fit and encoding, and the memory of a second fit."""
    hasher, start = make(), time.process_time()
    hasher.fit(vectors, **known)
    fitted = time.process_time()
    hasher.encode(vectors, n_threads=1)
    encoded = time.process_time()
    tracemalloc.start()
    make().fit(vectors, **known)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {
        "fit_seconds": round(fitted - start, 4),
        "encode_microseconds": round((encoded - fitted) / len(vectors) * 1e6, 4),
        "fit_megabytes": round(peak / 2**20, 2),
    }

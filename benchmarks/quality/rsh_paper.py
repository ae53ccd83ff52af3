"""Average precision of RSH, SRSH, WTA and LSH on MNIST and CIFAR-10 Gist, by the paper's protocol.

Ten random splits of 1000 training vectors, which are also the database, and 3000 queries; library defaults.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from harness.results import Facts, Row
from harness.running import Run
from harness.sets import load, paper_split
from rankhash import LSH, RSH, SRSH, WTA, Hasher
from rankhash.evaluation import Split
from rankhash.evaluation.measure import measure

SETS = ("mnist", "cifar10-gist")
SEEDS = range(100, 110)
LENGTHS = (8, 16, 32, 64)
METHODS: dict[str, tuple[Callable[[int, int], Hasher], tuple[int, ...]]] = {
    "LSH": (lambda n, seed: LSH(n, random_state=seed), (*LENGTHS, 128)),
    "WTA": (lambda n, seed: WTA(n, 4, random_state=seed), LENGTHS),
    "RSH untrained": (lambda n, seed: RSH(n, learning_rate=0.0, random_state=seed), LENGTHS),
    "RSH": (lambda n, seed: RSH(n, random_state=seed), LENGTHS),
    "RSH batch": (lambda n, seed: RSH(n, mode="batch", random_state=seed), LENGTHS),
    "SRSH bound": (lambda n, seed: SRSH(n, update="bound", random_state=seed), LENGTHS),
    "SRSH hinge": (lambda n, seed: SRSH(n, random_state=seed), LENGTHS),
}


def rows(run: Run) -> Iterator[Row]:
    """One row per set, split, method and number of symbols; a quick run has one split of the digits."""
    sets, seeds = (("digits",), SEEDS[:1]) if run.quick else (SETS, SEEDS)
    keys = (
        {"set": name, "seed": seed, "method": method, "n_symbols": n_symbols}
        for name in sets
        for seed in seeds
        for method, (_, lengths) in METHODS.items()
        for n_symbols in lengths
    )
    for key in run.wanted(keys):
        hasher = METHODS[key["method"]][0](key["n_symbols"], key["seed"])
        yield Row(key, fitted_values(hasher, _split(run.data, key["set"], key["seed"])))


@lru_cache(maxsize=1)
def _split(folder: Path, name: str, seed: int) -> Split:
    data = load(folder, name)
    return paper_split(data, seed, n_queries=min(3000, len(data.vectors) - 1000))


def fitted_values(hasher: Hasher, data: Split) -> Facts:
    """Seconds of the fit, and precision of all pairs and within small radii."""
    start = time.perf_counter()
    hasher.fit(data.train, similarity=data.similarity)
    seconds = time.perf_counter() - start
    found = measure(hasher, data)
    values = {"bits": hasher.layout_.bits, "seconds": round(seconds, 3), "ap": found["ap"]}
    values |= {f"precision_{radius}": ball["zero"] for radius, ball in found["ball"].items()}
    return values | ({"weighted_ap": found["weighted_ap"]} if "weighted_ap" in found else {})

"""How good codes are that are learned from many vectors without labels: raw numbers to results/quality_many.json.

Run it as ``python benchmarks/quality_many.py --data FOLDER``, the folder of the sets in ``sets.py``. Rows that are
there already are kept unless ``--again`` is given, so that a run can be continued.

Training vectors, database and queries all differ; queries of SIFT are of photographs that are left out. Vectors are
taken as they are, hashers with their defaults. Similar to a query are the vectors of the database within one distance,
which gives a query 50 on average.
"""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from machine import provenance, refuse_private_names
from quality_rsh import distances as code_distances
from rankhash import ITQ, JRSH, MLH, Hasher
from rankhash.evaluation import metrics
from sets import F32, FILES, N_NEIGHBORS, add_data_option, distances, load

RESULTS = Path(__file__).parent / "results" / "quality_many.json"
SETS = ("mnist", "cifar10-gist", "glove", "sift", "trivia-text")
BITS = (16, 32, 64)
N_TRAIN, N_DATABASE, N_QUERIES = 10_000, 20_000, 1000
N_NEAREST, DEPTH, RADIUS = 10, 100, 2
METHODS: dict[str, Callable[[int], Hasher]] = {
    "JRSH": lambda bits: JRSH(bits, random_state=0),
    "JRSH radius 2": lambda bits: JRSH(bits, target="radius", random_state=0),
    "ITQ": lambda bits: ITQ(bits, random_state=0),
    "MLH": lambda bits: MLH(bits, random_state=0),
}


@dataclass(frozen=True)
class Problem:
    """Three sets of vectors that have none in common, what queries should find, and what is nearest to them."""

    train: F32
    database: F32
    queries: F32
    similar: NDArray[np.bool_]
    nearest: NDArray[np.bool_]


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--bits", nargs="+", type=int, default=BITS)
    parser.add_argument("--seed", type=int, default=1, help="of the split")
    parser.add_argument("--again", action="store_true", help="measure also what is there already")
    options = parser.parse_args()
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"rows": []}
    for name in options.sets:
        problem = divide(options.data, name, options.seed)
        for bits in options.bits:
            for method in METHODS:
                key = {"data": name, "bits": bits, "method": method, "seed": options.seed}
                same = [row for row in kept["rows"] if key.items() <= row.items()]
                if not same or options.again:
                    origin = provenance()
                    row = {**key, **measure(problem, METHODS[method](bits)), "commit": origin["commit"][:10]}
                    rows = [row for row in kept["rows"] if row not in same] + [row]
                    keep(kept, {"origin": origin, "rows": rows})
                    print(row, flush=True)


def keep(kept: dict[str, Any], changed: dict[str, Any]) -> None:
    """Write the results with what has changed."""
    kept.update(changed)
    text = json.dumps(kept, indent=1) + "\n"
    refuse_private_names(text)
    RESULTS.write_text(text, encoding="utf-8")


def divide(folder: Path, name: str, seed: int) -> Problem:
    """A random split of a set; of a small one, half of the vectors are to learn from."""
    X = load(folder, name)[0].astype(np.float32)
    rng = np.random.default_rng(seed)
    held = held_out(folder, rng) if name == "sift" else rng.permutation(len(X)) < N_QUERIES
    queries = rng.permutation(np.flatnonzero(held))[:N_QUERIES]
    rest = rng.permutation(np.flatnonzero(~held))
    n_train = min(N_TRAIN, len(rest) // 2)
    database = rest[n_train : n_train + N_DATABASE]
    similar, nearest = truth(X[database], X[queries])
    return Problem(X[rest[:n_train]], X[database], X[queries], similar, nearest)


def held_out(folder: Path, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which descriptors belong to some random photographs, a twelfth of them."""
    with np.load(folder / FILES["sift"][0]) as file:
        images = file["image"]
    names = rng.permutation(np.unique(images))
    return np.isin(images, names[: len(names) // 12])


def truth(database: F32, queries: F32) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which vectors ``(n_queries, n)`` are within the distance, and which are the nearest of their query."""
    apart = distances(queries.astype(np.float64), database.astype(np.float64))
    wanted = N_NEIGHBORS * len(queries) - 1
    similar = apart <= np.partition(apart, wanted, axis=None)[wanted]
    nearest = np.zeros(apart.shape, bool)
    np.put_along_axis(nearest, np.argpartition(apart, N_NEAREST, axis=1)[:, :N_NEAREST], values=True, axis=1)
    return similar, nearest


def measure(problem: Problem, hasher: Hasher) -> dict[str, Any]:
    """The quality of a hasher's codes on one thread, and the CPU seconds of learning."""
    with threadpool_limits(1):
        start = time.thread_time()
        hasher.fit(problem.train)
        seconds = time.thread_time() - start
        found = code_distances(hasher.transform(problem.queries), hasher.transform(problem.database))
    return {
        "pairs": round(metrics.average_precision(found, problem.similar), 5),
        "queries": round(metrics.mean_average_precision(found, problem.similar), 5),
        "recall": round(metrics.mean(metrics.recall_at(found, problem.nearest, DEPTH)), 5),
        "ball": round(metrics.mean(metrics.ball_precision(found, problem.similar, RADIUS)), 5),
        "thread_seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    main()

"""Writes sets as .npy files: ``python -m vector_sets.prepare --data DIR --packages DIR --out DIR [names]``.

Each set becomes a folder with base.npy, queries.npy, truth.npy (ids of the 100 nearest), truth_distances.npy, the
same for the tuning queries (tune*.npy), and set.json.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np

from harness.prepared_sets import DEPTH, distances_of
from rankhash._types import F32, F64, I64
from rankhash.evaluation import exact_neighbors
from vector_sets.sources import SETS, Sources
from vector_sets.splits import VectorSet


def true_neighbors(base: F32, queries: F32, metric: str, depth: int = DEPTH) -> tuple[I64, F64]:
    """The ``depth`` (100) nearest rows of ``base`` for each query, by distance and then row, and their distances."""
    order = "euclidean" if metric == "euclidean" else "inner_product"  # rows of cosine sets have unit length
    ids = exact_neighbors(queries, base, min(depth, len(base)), metric=order).ids
    return ids, distances_of(base, queries, ids, metric)


def write(folder: Path, made: VectorSet) -> None:
    """Vectors, exact neighbours and a description; ``set.json`` comes last and marks the folder as complete."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "base.npy", made.base)
    for queries, truth, rows in (("queries", "truth", made.queries), ("tune", "tune_truth", made.tuning)):
        if not len(rows):
            continue  # small sets have no tuning queries
        ids, distances = true_neighbors(made.base, rows, made.metric)
        np.save(folder / f"{queries}.npy", rows)
        np.save(folder / f"{truth}.npy", ids.astype(np.int32))
        np.save(folder / f"{truth}_distances.npy", distances)
    (folder / "set.json").write_text(json.dumps(_about(made), indent=1), encoding="utf-8")


def _about(made: VectorSet) -> dict[str, Any]:
    n, d = made.base.shape
    counts = {"n": n, "d": d, "n_queries": len(made.queries), "n_tuning": len(made.tuning)}
    return {"metric": made.metric, "notes": made.notes, **counts}


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the .npz files")
    parser.add_argument("--packages", type=Path, required=True, help="folder of unpacked registry packages")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the sets to")
    parser.add_argument("names", nargs="*", help="sets to write (default: all)")
    options = parser.parse_args()
    sources = Sources(options.data, options.packages)
    for name in options.names or SETS:
        write(options.out / name, SETS[name](sources))
        print(name, flush=True)


if __name__ == "__main__":
    main()

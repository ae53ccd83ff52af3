"""How many of the ten nearest neighbours a scan of codes finds: raw numbers to results/quality_recall.json.

Run it as ``python benchmarks/quality_recall.py --data FOLDER``; the folder, else that in RANKHASH_DATA, holds
trivia10k_text1536.npz, glove50_100k.npz and sift_93k.npz. Rows that are there already are kept unless ``--again`` is
given, so that a run can be continued; ``--show`` only prints what there is.

Training vectors, database and queries all differ: 1000 random queries (500 for trivia), or for SIFT 1000 descriptors of
photographs that are left out, then two halves of the rest. The truth is the Euclidean distance of the vectors. FAISS
ranks by its own distances to decoded vectors, the hashers by tables, ITQ by Hamming distance.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from machine import provenance, refuse_private_names
from rankhash import ITQ, JRSH, FlatIndex, Hasher

F32 = NDArray[np.float32]
Ids = NDArray[np.int64]

OUT = Path(__file__).parent / "results" / "quality_recall.json"
FILES = {"trivia": "trivia10k_text1536.npz", "glove": "glove50_100k.npz", "sift": "sift_93k.npz"}
N_QUERIES, N_TRUE, DEPTHS = 1000, 10, (10, 100)


@dataclass(frozen=True)
class Problem:
    """Three sets of vectors that have none in common, and the nearest of the database to each query."""

    train: F32
    database: F32
    queries: F32
    truth: Ids


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("RANKHASH_DATA"), help="folder with the data files")
    parser.add_argument("--sets", nargs="+", default=list(FILES), choices=FILES)
    parser.add_argument("--bytes", type=int, nargs="+", default=[8, 16, 32])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--again", action="store_true", help="measure also what is there already")
    parser.add_argument("--show", action="store_true", help="only print the kept results")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(OUT.read_text(encoding="utf-8"))["rows"] if OUT.exists() else []
    if not arguments.show:
        if arguments.data is None:
            parser.error("say where the data is: --data FOLDER or RANKHASH_DATA")
        run(Path(arguments.data), arguments, rows)
    for row in rows:
        print("{data:8s} {bytes:3d} bytes  {method:14s} {recall_10:.3f} {recall_100:.3f}".format(**row))


def run(folder: Path, arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    for name in arguments.sets:
        problem = load(folder, name)
        for n_bytes in arguments.bytes:
            for method in arguments.methods:
                key = {"data": name, "bytes": n_bytes, "method": method}
                same = [row for row in rows if key.items() <= row.items()]
                if same and not arguments.again:
                    continue
                origin = provenance()
                row = {**key, **measure(problem, method, n_bytes), "commit": origin["commit"][:10]}
                rows[:] = [row for row in rows if row not in same] + [row]
                rows.sort(key=lambda r: (list(FILES).index(r["data"]), r["bytes"], list(METHODS).index(r["method"])))
                text = json.dumps({"origin": {**origin, "load": os.getloadavg()}, "rows": rows}, indent=1) + "\n"
                refuse_private_names(text)
                OUT.write_text(text, encoding="utf-8")
                print("{data} {bytes} {method}: {recall_10:.3f} {recall_100:.3f}".format(**row), flush=True)


def load(folder: Path, name: str) -> Problem:
    with np.load(folder / FILES[name]) as file:
        vectors = file["X"].astype(np.float32)
        images = file["image"] if name == "sift" else None
    rng = np.random.default_rng(0)
    n_queries = min(N_QUERIES, len(vectors) // 20)
    held = held_out(images, rng) if images is not None else np.arange(len(vectors)) < n_queries
    if images is None:
        rng.shuffle(held)
    queries = rng.permutation(np.flatnonzero(held))[:n_queries]
    train, database = np.array_split(rng.permutation(np.flatnonzero(~held)), 2)
    return Problem(vectors[train], vectors[database], vectors[queries], nearest(vectors[database], vectors[queries]))


def held_out(images: NDArray[Any], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which vectors belong to some random images, together at least 4 % of all."""
    names, sizes = np.unique(images, return_counts=True)
    order = rng.permutation(len(names))
    enough = int(np.searchsorted(np.cumsum(sizes[order]), len(images) // 25)) + 1
    return np.isin(images, names[order[:enough]])


def nearest(database: F32, queries: F32) -> Ids:
    squares = np.square(database, dtype=np.float64).sum(axis=1)
    distances = squares - 2.0 * (queries.astype(np.float64) @ database.astype(np.float64).T)
    return np.argsort(distances, axis=1, kind="stable")[:, :N_TRUE]


def measure(problem: Problem, method: str, n_bytes: int) -> dict[str, Any]:
    start = time.process_time()
    found = METHODS[method](problem, n_bytes)
    seconds = time.process_time() - start
    recalls = {f"recall_{depth}": round(recall(found, problem.truth, depth), 5) for depth in DEPTHS}
    return {**recalls, "cpu_seconds": round(seconds, 1)}


def recall(found: Ids, truth: Ids, depth: int) -> float:
    """The share of the true neighbours that are among the first ``depth`` found."""
    hits = [len(np.intersect1d(a[:depth], b)) for a, b in zip(found, truth, strict=True)]
    return float(np.mean(hits)) / N_TRUE


def by_tables(hasher: Hasher, problem: Problem) -> Ids:
    hasher.fit(problem.train)
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(problem.database))
    return index.search_tables(hasher.score_tables(problem.queries), DEPTHS[-1]).ids


def winners(problem: Problem, n_bytes: int) -> Ids:
    return by_tables(JRSH(2 * n_bytes, objective="reconstruction", random_state=0), problem)


def refined(problem: Problem, n_bytes: int) -> Ids:
    return by_tables(JRSH(2 * n_bytes, objective="reconstruction", refine=8, random_state=0), problem)


def itq(problem: Problem, n_bytes: int) -> Ids:
    hasher = ITQ(8 * n_bytes, random_state=0).fit(problem.train)
    index = FlatIndex(hasher.layout_)
    index.add(hasher.encode(problem.database))
    return index.search(hasher.encode(problem.queries), DEPTHS[-1]).ids


def optimised_product(problem: Problem, n_bytes: int, bits: int) -> Ids:
    """FAISS: a learned rotation, then a product quantiser; padded where the parts do not divide the dimensions."""
    import faiss

    n_parts, d = 8 * n_bytes // bits, problem.train.shape[1]
    width = -(-d // n_parts) * n_parts
    rotation = faiss.OPQMatrix(d, n_parts, width)
    quantizer = faiss.ProductQuantizer(width, n_parts, bits)
    rotation.pq = quantizer
    return ask(faiss.IndexPreTransform(rotation, faiss.IndexPQ(width, n_parts, bits)), problem)


def residual(problem: Problem, n_bytes: int) -> Ids:
    """FAISS: a residual quantiser with a beam of 32 and exact lengths of the decoded vectors."""
    import faiss

    index = faiss.IndexResidualQuantizer(problem.train.shape[1], n_bytes, 8)
    index.rq.max_beam_size = 32
    return ask(index, problem)


def ask(index: Any, problem: Problem) -> Ids:
    index.train(problem.train)
    index.add(problem.database)
    ids: Ids = index.search(problem.queries, DEPTHS[-1])[1]
    return ids


METHODS: dict[str, Callable[[Problem, int], Ids]] = {
    "JRSH": winners,
    "JRSH refined": refined,
    "ITQ": itq,
    "OPQ x4": lambda problem, n_bytes: optimised_product(problem, n_bytes, 4),
    "OPQ x8": lambda problem, n_bytes: optimised_product(problem, n_bytes, 8),
    "RQ x8": residual,
}

if __name__ == "__main__":
    main()

"""The entry for ann-benchmarks under that harness's contract, with FAISS and hnswlib: recall and time of a query.

Sets are generated as the harness generates them, or drawn around clustered centres, and written to HDF5 files. Each
algorithm searches one query at a time with one thread for ten neighbours, three times; the best mean counts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ann_benchmarks.contract import BaseANN, entry, write_set
from ann_benchmarks.contract import run as run_algorithm
from harness.results import Row
from harness.running import Run

K = 10
Sets = dict[str, Callable[[np.random.Generator, int], tuple[NDArray[Any], str]]]


def bits(n: int, d: int) -> Callable[[np.random.Generator, int], tuple[NDArray[Any], str]]:
    """Random bit strings."""
    return lambda rng, scale: (rng.integers(0, 2, (n // scale, d)).astype(bool), "hamming")


def clusters(n: int, d: int, metric: str) -> Callable[[np.random.Generator, int], tuple[NDArray[Any], str]]:
    """Vectors around 200 centres, with a spread that differs by dimension."""

    def draw(rng: np.random.Generator, scale: int) -> tuple[NDArray[Any], str]:
        centres = rng.normal(size=(200, d))
        rows = centres[rng.integers(0, 200, n // scale)] + rng.normal(size=(n // scale, d)) * np.linspace(1, 0.2, d)
        return rows.astype(np.float32), metric

    return draw


SETS: Sets = {
    "random-xs-16-hamming": bits(10_000, 16),
    "random-s-128-hamming": bits(50_000, 128),
    "random-l-256-hamming": bits(100_000, 256),
    "clustered-s-32-angular": clusters(50_000, 32, "angular"),
    "clustered-m-128-euclidean": clusters(100_000, 128, "euclidean"),
}
N_QUERIES = 500
RECALLS = [0.8, 0.9, 0.95, 0.99]


class FaissBinary(BaseANN):
    """FAISS: all codes are compared."""

    name = "FAISS IndexBinaryFlat"

    def fit(self, X: NDArray[Any]) -> None:
        """Pack and add the bits."""
        import faiss

        faiss.omp_set_num_threads(1)
        self._index = faiss.IndexBinaryFlat(X.shape[1])
        self._index.add(np.packbits(X, axis=1))

    def prepare_query(self, q: NDArray[Any], n: int) -> None:
        """Pack the query."""
        self._prepared = np.packbits(q[None], axis=1), n

    def run_prepared_query(self) -> None:
        """Search."""
        self._ids = self._index.search(*self._prepared)[1][0]

    def get_prepared_query_results(self) -> NDArray[np.int64]:
        """What was found."""
        return np.asarray(self._ids)


class FaissCells(BaseANN):
    """FAISS: vectors in cells, of which a search scans some."""

    def __init__(self, metric: str) -> None:
        self._unit = metric == "angular"

    def fit(self, X: NDArray[Any]) -> None:
        """Learn cells and add the vectors."""
        import faiss

        faiss.omp_set_num_threads(1)
        n_cells = int(4 * len(X) ** 0.5)
        self._index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_cells)
        rows = self._rows(X)
        self._index.train(rows)
        self._index.add(rows)

    def set_query_arguments(self, n_probes: int) -> None:
        """Cells that a search scans."""
        self._index.nprobe = n_probes
        self.name = f"FAISS IndexIVFFlat, {n_probes} cells"

    def query(self, q: NDArray[Any], n: int) -> NDArray[np.int64]:
        """The nearest vectors."""
        ids = self._index.search(self._rows(q[None]), n)[1][0]
        return np.asarray(ids[ids >= 0])

    def _rows(self, X: NDArray[Any]) -> NDArray[Any]:
        return X / np.linalg.norm(X, axis=1, keepdims=True) if self._unit else X


class Hnsw(BaseANN):
    """hnswlib: a graph."""

    def __init__(self, metric: str) -> None:
        self._space = "cosine" if metric == "angular" else "l2"

    def fit(self, X: NDArray[Any]) -> None:
        """Build the graph."""
        import hnswlib

        self._index = hnswlib.Index(self._space, X.shape[1])
        self._index.init_index(len(X), M=16, ef_construction=200)
        self._index.add_items(X, num_threads=1)
        self._index.set_num_threads(1)

    def set_query_arguments(self, ef: int) -> None:
        """Candidates that a search keeps."""
        self._index.set_ef(ef)
        self.name = f"hnswlib, M 16, ef {ef}"

    def query(self, q: NDArray[Any], n: int) -> NDArray[np.int64]:
        """The nearest vectors."""
        return np.asarray(self._index.knn_query(q[None], n)[0][0].astype(np.int64))


def algorithms(metric: str) -> dict[str, tuple[Any, list[Any]]]:
    """Entries for a metric, each with the settings of its searches."""
    ours = entry()
    if metric == "hamming":
        flat, lookup = ours.RankhashFlat(metric), ours.RankhashLookup(metric)
        return {"flat": (flat, [None]), "lookup": (lookup, [None]), "faiss": (FaissBinary(), [None])}
    return {
        "vectors": (ours.RankhashVectors(metric), RECALLS),
        "faiss": (FaissCells(metric), [4, 8, 16, 32]),
        "hnswlib": (Hnsw(metric), [10, 20, 40, 80, 160]),
    }


def rows(run: Run) -> Iterator[Row]:
    """One row per set, algorithm and setting; a quick run has a tenth of the vectors of two sets."""
    names = ("random-xs-16-hamming", "clustered-s-32-angular") if run.quick else tuple(SETS)
    keys = [{"set": name, "algorithm": who} for name in names for who in algorithms(name.rpartition("-")[2])]
    for key in run.wanted(keys):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "set.hdf5"
            vectors, metric = SETS[key["set"]](np.random.default_rng(1), 10 if run.quick else 1)
            write_set(path, vectors[N_QUERIES:], vectors[:N_QUERIES], metric, 100)
            algorithm, settings = algorithms(metric)[key["algorithm"]]
            outcomes = run_algorithm(path, algorithm, settings, K, 1 if run.quick else 3)
        yield Row(key, {"settings": [_facts(outcome) for outcome in outcomes]})


def _facts(outcome: Any) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "recall": round(outcome.recall, 5),
        "microseconds": round(1e6 * outcome.seconds, 1),
        "cpu_microseconds": round(1e6 * outcome.cpu_seconds, 1),
        "build_seconds": round(outcome.build_seconds, 2),
    }

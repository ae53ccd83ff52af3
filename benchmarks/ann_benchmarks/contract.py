"""What ann-benchmarks does with an entry: HDF5 files of vectors and neighbours, single queries, recall with ties."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
TIE = 1e-3
"""Found items up to this much farther than the last true neighbour count as found"""
N_ROWS = 50
"""Queries that are compared with all vectors at once"""
STUB = "rankhash_ann_contract"


class BaseANN:
    """The base that entries expect from the harness."""

    name = ""

    def __str__(self) -> str:
        return self.name


def entry() -> ModuleType:
    """The module ``module.py``, imported as the harness imports it: below a package that has ``base.module``."""
    for name in (STUB, f"{STUB}.base", f"{STUB}.base.module", f"{STUB}.rankhash"):
        sys.modules.setdefault(name, ModuleType(name)).__path__ = []
    sys.modules[f"{STUB}.base.module"].BaseANN = BaseANN  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location(f"{STUB}.rankhash.module", HERE / "module.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- data sets -----------------------------------------------------------------------------------------------------


def away(metric: str, queries: NDArray[Any], rows: NDArray[Any]) -> NDArray[np.float64]:
    """Distances ``(n_queries, n)``: the share of differing bits, 1 - cosine, or the Euclidean distance."""
    q, x = queries.astype(np.float64), rows.astype(np.float64)
    if metric == "hamming":
        differing: NDArray[np.float64] = np.asarray(q @ (1 - x).T + (1 - q) @ x.T) / rows.shape[1]
        return differing
    if metric == "angular":
        q, x = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (q, x))
        return np.asarray(1 - q @ x.T)
    squares = np.square(q).sum(axis=1)[:, None] + np.square(x).sum(axis=1) - 2 * q @ x.T
    return np.asarray(np.sqrt(np.maximum(squares, 0)))


def write_set(path: Path, train: NDArray[Any], test: NDArray[Any], metric: str, k: int) -> None:
    """A file as the harness has them: train, test, neighbours and distances of each test vector."""
    order = np.empty((len(test), k), np.int64)
    nearest = np.empty((len(test), k))
    for start in range(0, len(test), N_ROWS):
        distances = away(metric, test[start : start + N_ROWS], train)
        near = np.argsort(distances, axis=1, kind="stable")[:, :k]
        order[start : start + N_ROWS] = near
        nearest[start : start + N_ROWS] = np.take_along_axis(distances, near, axis=1)
    with h5py.File(path, "w") as file:
        file.attrs["distance"], file.attrs["type"] = metric, "dense"
        file["train"], file["test"], file["neighbors"], file["distances"] = train, test, order, nearest


# -- runs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """One run of an algorithm with one setting."""

    name: str
    recall: float
    seconds: float
    """Mean wall-clock seconds per query, best of the runs"""
    cpu_seconds: float
    """Mean CPU seconds per query, best of the runs"""
    build_seconds: float


def run(path: Path, algorithm: Any, settings: list[Any], k: int, n_runs: int = 3) -> list[Outcome]:
    """The algorithm on a file: built once, then searched query by query with each of the settings."""
    with h5py.File(path) as file:
        metric = str(file.attrs["distance"])
        train, test, true = (np.array(file[name]) for name in ("train", "test", "distances"))
    start = time.perf_counter()
    algorithm.fit(train)
    build = time.perf_counter() - start
    outcomes = []
    for setting in settings:
        if setting is not None:
            algorithm.set_query_arguments(setting)
        times, found = zip(*(_searched(algorithm, test, k) for _ in range(n_runs)), strict=True)
        best = np.min(times, axis=0)
        recall = recall_with_ties(metric, train, test, found[-1], true, k)
        outcomes.append(Outcome(str(algorithm), recall, float(best[0]), float(best[1]), build))
    return outcomes


def _searched(algorithm: Any, test: NDArray[Any], k: int) -> tuple[tuple[float, float], list[NDArray[np.int64]]]:
    search = _prepared if hasattr(algorithm, "prepare_query") else _plain
    results = [search(algorithm, row, k) for row in test]
    wall, cpu = np.mean([times for times, _ in results], axis=0)
    return (float(wall), float(cpu)), [np.asarray(ids) for _, ids in results]


def _plain(algorithm: Any, row: NDArray[Any], k: int) -> tuple[tuple[float, float], Any]:
    found: list[Any] = []
    times = _timed(lambda: found.append(algorithm.query(row, k)))
    return times, found[0]


def _prepared(algorithm: Any, row: NDArray[Any], k: int) -> tuple[tuple[float, float], Any]:
    algorithm.prepare_query(row, k)
    return _timed(algorithm.run_prepared_query), algorithm.get_prepared_query_results()


def _timed(call: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def recall_with_ties(
    metric: str, train: NDArray[Any], test: NDArray[Any], found: list[NDArray[np.int64]], true: NDArray[Any], k: int
) -> float:
    """The share of found items that are not farther than the last true neighbour, up to ``TIE``."""
    hits = 0
    for row, ids, distances in zip(test, found, true, strict=True):
        if len({*ids.tolist()}) < len(ids):
            raise ValueError("an entry returned the same item twice")
        hits += int((away(metric, row[None], train[ids[:k]])[0] <= distances[k - 1] + TIE).sum()) if len(ids) else 0
    return hits / (k * len(test))

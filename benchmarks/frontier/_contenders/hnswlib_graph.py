"""hnswlib: a navigable graph over the float32 vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hnswlib
import numpy as np

from frontier._contenders import Params, grid
from rankhash._types import F32, I64

TITLE = "hnswlib"
PACKAGE = "hnswlib"
SPACES = {"cosine": "ip", "dot": "ip", "euclidean": "l2"}  # cosine sets hold unit vectors
SEARCHES = grid(ef=[40, 80, 120, 160, 320, 640])


def builds(n: int, d: int) -> list[Params]:  # noqa: ARG001
    """The customary graph."""
    return grid(M=[16], ef_construction=[200])


class Index:
    """A graph with M links per node and layer, 2·M on the lowest."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.graph.set_num_threads(1)

    @classmethod
    def build(cls, X: F32, metric: str, *, M: int, ef_construction: int) -> Index:
        """The vectors one after the other, on one thread."""
        graph = hnswlib.Index(space=SPACES[metric], dim=X.shape[1])
        graph.init_index(max_elements=len(X), M=M, ef_construction=ef_construction, random_seed=100)
        graph.add_items(X, num_threads=1)
        return cls(graph)

    def save(self, path: Path) -> None:
        """One file."""
        self.graph.save_index(str(path))

    @classmethod
    def load(cls, path: Path, X: F32, metric: str) -> Index:
        """The graph of a file."""
        graph = hnswlib.Index(space=SPACES[metric], dim=X.shape[1])
        graph.load_index(str(path), max_elements=len(X))
        return cls(graph)

    def search(self, Q: F32, k: int, *, ef: int) -> I64:
        """Ids of the neighbours."""
        self.graph.set_ef(max(ef, k))
        ids, _ = self.graph.knn_query(Q, k=k, num_threads=1)
        return np.asarray(ids, np.int64)

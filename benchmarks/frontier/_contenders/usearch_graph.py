"""USearch: a navigable graph over float16 vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from usearch.index import Index as Graph

from frontier._contenders import Params, grid
from rankhash._types import F32, I64

TITLE = "USearch"
PACKAGE = "usearch"
KINDS = {"cosine": "ip", "dot": "ip", "euclidean": "l2sq"}  # cosine sets hold unit vectors
SEARCHES = grid(ef=[40, 80, 120, 160, 320, 640])


def builds(n: int, d: int) -> list[Params]:  # noqa: ARG001
    """The same links as the other graphs, with half the memory of their vectors."""
    return grid(connectivity=[16], ef_construction=[200], dtype=["f16"])


class Index:
    """A graph with ``connectivity`` links per node and layer, twice as many on the lowest."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    @classmethod
    def build(cls, X: F32, metric: str, *, connectivity: int, ef_construction: int, dtype: str) -> Index:
        """The vectors one after the other, on one thread."""
        shape = {"ndim": X.shape[1], "metric": KINDS[metric], "dtype": dtype}
        graph = Graph(**shape, connectivity=connectivity, expansion_add=ef_construction)
        graph.add(np.arange(len(X)), X, threads=1)
        return cls(graph)

    def save(self, path: Path) -> None:
        """One file."""
        self.graph.save(str(path))

    @classmethod
    def load(cls, path: Path, X: F32, metric: str) -> Index:  # noqa: ARG003
        """The graph of a file."""
        return cls(Graph.restore(str(path)))

    def search(self, Q: F32, k: int, *, ef: int) -> I64:
        """Ids of the neighbours."""
        self.graph.expansion_search = max(ef, k)
        return np.asarray(self.graph.search(Q, k, threads=1).keys, np.int64).reshape(len(Q), k)

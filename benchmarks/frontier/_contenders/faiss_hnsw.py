"""FAISS HNSW: a navigable graph over the float32 vectors."""

from __future__ import annotations

import faiss

from frontier._contenders import Params, _faiss, grid
from rankhash._types import F32, I64

TITLE = "FAISS HNSW"
PACKAGE = "faiss-cpu"
SEARCHES = grid(ef=[40, 80, 120, 160, 320, 640])


def builds(n: int, d: int) -> list[Params]:  # noqa: ARG001
    """The customary graph."""
    return grid(M=[16], ef_construction=[200])


class Index(_faiss.Base):
    """A graph with M links per node and layer, 2·M on the lowest."""

    @classmethod
    def build(cls, X: F32, metric: str, *, M: int, ef_construction: int) -> Index:
        """The vectors one after the other, on one thread."""
        faiss.omp_set_num_threads(1)
        index = faiss.IndexHNSWFlat(X.shape[1], M, _faiss.METRICS[metric])
        index.hnsw.efConstruction = ef_construction
        index.add(X)
        return cls(index)

    def search(self, Q: F32, k: int, *, ef: int) -> I64:
        """Ids of the neighbours."""
        self.index.hnsw.efSearch = ef
        ids: I64 = self.index.search(Q, k)[1]
        return ids

"""Our VectorIndex, with its vectors in memory or mapped from its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from frontier._contenders import Params, grid
from rankhash import VectorIndex
from rankhash._types import F32, I64

TITLE = "VectorIndex"
PACKAGE = "rankhash"
SEARCHES = grid(recall=[0.8, 0.9, 0.95, 0.98, 0.99, 0.995])


def builds(n: int, d: int) -> list[Params]:  # noqa: ARG001
    """What the index chooses itself."""
    return [{}]


class Index:
    """An index with everything chosen by itself; the recall is asked for per search."""

    def __init__(self, index: VectorIndex) -> None:
        self.index = index

    @classmethod
    def build(cls, X: F32, metric: str, **params: Any) -> Index:
        """Learn, encode and calibrate, on one thread."""
        index = VectorIndex(metric, verbose=False, **params)
        index.add(X)
        return cls(index)

    def save(self, path: Path) -> None:
        """One file."""
        self.index.save(path)

    @classmethod
    def load(cls, path: Path, X: F32, metric: str) -> Index:  # noqa: ARG003
        """With the vectors mapped from the file, as large indexes are used."""
        return cls(VectorIndex.load(path, mmap=True, verify=False))

    def search(self, Q: F32, k: int, *, recall: float) -> I64:
        """Ids of the neighbours."""
        return self.index.search(Q, k, recall=recall, n_threads=1).ids

    def ram(self, n: int) -> float:
        """Bytes per vector of codes, cells and ids; the vectors stay in the file unless all of them are compared."""
        facts = self.index.describe()
        return self.index.nbytes / n + (facts["bytes_per_vector_rows"] if facts["exact"] else 0)

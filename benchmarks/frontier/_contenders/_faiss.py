"""What the contenders of FAISS share: factory strings, one thread, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import faiss

from rankhash._types import F32, I64

METRICS = {"cosine": faiss.METRIC_INNER_PRODUCT, "dot": faiss.METRIC_INNER_PRODUCT, "euclidean": faiss.METRIC_L2}
N_TRAIN = 200_000  # training rows: FAISS itself takes at most 256 per centroid


class Base:
    """An index of FAISS, searched on one thread."""

    def __init__(self, index: Any) -> None:
        faiss.omp_set_num_threads(1)
        self.index = index

    def save(self, path: Path) -> None:
        """One file."""
        faiss.write_index(self.index, str(path))

    @classmethod
    def load(cls, path: Path, X: F32, metric: str) -> Any:  # noqa: ARG003
        """The index of a file."""
        return cls(faiss.read_index(str(path)))


class CellIndex(Base):
    """Cells with compressed vectors; ``k_factor``·k candidates are re-ranked by the stored float32 vectors."""

    def __init__(self, index: Any) -> None:
        super().__init__(index)
        self.cells = faiss.extract_index_ivf(faiss.downcast_index(getattr(index, "base_index", index)))

    @classmethod
    def build(cls, X: F32, metric: str, *, factory: str) -> CellIndex:
        """The index of a factory string, trained and filled on one thread."""
        faiss.omp_set_num_threads(1)
        index = faiss.index_factory(X.shape[1], factory, METRICS[metric])
        index.train(X[:: max(1, len(X) // N_TRAIN)])
        index.add(X)
        return cls(index)

    def search(self, Q: F32, k: int, *, nprobe: int, k_factor: int) -> I64:
        """Ids of the neighbours."""
        self.cells.nprobe = nprobe
        self.index.k_factor = k_factor
        ids: I64 = self.index.search(Q, k)[1]
        return ids

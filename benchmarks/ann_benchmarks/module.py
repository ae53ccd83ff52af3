"""rankhash as entries of ann-benchmarks; this file goes to ``ann_benchmarks/algorithms/rankhash/module.py`` there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankhash import CodeLayout, FlatIndex, LookupIndex, VectorIndex

from ..base.module import BaseANN  # type: ignore[import-not-found]

METRICS = {"angular": "cosine", "euclidean": "euclidean"}


class RankhashFlat(BaseANN):  # type: ignore[misc]
    """Exact search by Hamming distance: all codes are compared."""

    kind: Any = FlatIndex

    def __init__(self, metric: str) -> None:
        if metric != "hamming":
            raise NotImplementedError(f"{type(self).__name__} compares by hamming, not by {metric}")
        self.name = type(self).__name__

    def fit(self, X: NDArray[Any]) -> None:
        """Pack the bits ``(n, d)`` and index them."""
        self._layout = CodeLayout(X.shape[1], 2)
        self._index = self.kind(self._layout)
        self._index.add(self._packed(X))

    def _packed(self, X: NDArray[Any]) -> NDArray[np.uint8]:
        return self._layout.pack(np.asarray(X, np.uint8))

    def query(self, q: NDArray[Any], n: int) -> NDArray[np.int64]:
        """The positions of the n nearest codes."""
        return _found(self._index.search(self._packed(q[None]), n, n_threads=1).ids)[0]

    def prepare_query(self, q: NDArray[Any], n: int) -> None:
        """Pack the query, which is no part of the search."""
        self._prepared = self._packed(q[None]), n

    def run_prepared_query(self) -> None:
        """Search."""
        query, n = self._prepared
        self._ids = self._index.search(query, n, n_threads=1).ids

    def get_prepared_query_results(self) -> NDArray[np.int64]:
        """The positions that the last search found."""
        return _found(self._ids)[0]

    def batch_query(self, X: NDArray[Any], n: int) -> None:
        """Search all queries at once, with all cores."""
        self.res = _found(self._index.search(self._packed(X), n).ids)


class RankhashLookup(RankhashFlat):
    """Exact search by Hamming distance through hash tables, or by scan where that is faster."""

    kind = LookupIndex


class RankhashVectors(BaseANN):  # type: ignore[misc]
    """The nearest vectors, by the recall that is asked for."""

    def __init__(self, metric: str) -> None:
        if metric not in METRICS:
            raise NotImplementedError(f"RankhashVectors compares by {' or '.join(METRICS)}, not by {metric}")
        self._metric, self._recall = METRICS[metric], 0.95
        self.name = "RankhashVectors"

    def fit(self, X: NDArray[Any]) -> None:
        """Learn cells and codes, and add the vectors."""
        self._index = VectorIndex(self._metric, verbose=False).fit(X)
        self._index.add(X)

    def set_query_arguments(self, recall: float) -> None:
        """The share of the true neighbours that the next searches find."""
        self._recall = recall
        self.name = f"RankhashVectors(recall={recall:g})"

    def query(self, q: NDArray[Any], n: int) -> NDArray[np.int64]:
        """The positions of the n nearest vectors."""
        return _found(self._index.search(q[None], n, recall=self._recall, n_threads=1).ids)[0]

    def batch_query(self, X: NDArray[Any], n: int) -> None:
        """Search all queries at once, with all cores."""
        self.res = _found(self._index.search(X, n, recall=self._recall).ids)

    def get_additional(self) -> dict[str, Any]:
        """Bytes of memory in addition to the vectors."""
        return {"index_bytes": self._index.nbytes}


def _found(ids: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return [row[row >= 0] for row in ids]

"""ScaNN: a tree of one level, anisotropic 4-bit codes and re-ranking by the float32 vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scann

from frontier._contenders import Params, cell_counts, grid
from rankhash._types import F32, I64

TITLE = "ScaNN"
PACKAGE = "scann"
MEASURES = {"cosine": "dot_product", "dot": "dot_product", "euclidean": "squared_l2"}
SEARCHES = grid(leaves=[32, 64, 128, 256, 512], reorder=[50, 100, 200])
SOAR = 1.5  # weight of the second cell that a vector is also put into, as its authors use


def builds(n: int, d: int) -> list[Params]:  # noqa: ARG001
    """Fine cells, with each vector in one cell or in two (SOAR)."""
    fine = cell_counts(n)[1]
    return [{"n_leaves": fine, "soar": False}, {"n_leaves": fine, "soar": True}]


class Index:
    """A tree with two dimensions per symbol."""

    def __init__(self, searcher: Any) -> None:
        self.searcher = searcher

    @classmethod
    def build(cls, X: F32, metric: str, *, n_leaves: int, soar: bool) -> Index:
        """Trained on up to 250,000 vectors, on one thread."""
        extra = {"soar_lambda": SOAR, "overretrieve_factor": 2.0} if soar else {}
        builder = scann.scann_ops_pybind.builder(X, 10, MEASURES[metric]).set_n_training_threads(1)
        sample = min(len(X), 250_000)
        directions = metric == "cosine"
        builder = builder.tree(
            n_leaves, max(1, n_leaves // 16), training_sample_size=sample, spherical=directions, **extra
        )
        threshold = 0.2 if metric != "euclidean" else float("nan")
        return cls(builder.score_ah(2, anisotropic_quantization_threshold=threshold).reorder(200).build())

    def save(self, path: Path) -> None:
        """A folder."""
        path.mkdir(parents=True, exist_ok=True)
        self.searcher.serialize(str(path), relative_path=True)

    @classmethod
    def load(cls, path: Path, X: F32, metric: str) -> Index:  # noqa: ARG003
        """The tree of a folder."""
        return cls(scann.scann_ops_pybind.load_searcher(str(path)))

    def search(self, Q: F32, k: int, *, leaves: int, reorder: int) -> I64:
        """Ids of the neighbours; a single query goes by the call for single queries, which is faster."""
        if len(Q) == 1:
            return np.asarray(self.searcher.search(Q[0], k, max(reorder, k), leaves)[0], np.int64)[None]
        return np.asarray(self.searcher.search_batched(Q, k, max(reorder, k), leaves)[0], np.int64)

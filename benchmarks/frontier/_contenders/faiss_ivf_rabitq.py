"""FAISS IVF with RaBitQ codes (FastScan), randomly rotated, and re-ranking by the float32 vectors."""

from __future__ import annotations

from frontier._contenders import Params, _faiss, cell_counts, grid

TITLE = "FAISS IVF-RaBitQ"
PACKAGE = "faiss-cpu"
SEARCHES = grid(nprobe=[64, 128, 256], k_factor=[20, 40])
Index = _faiss.CellIndex


def builds(n: int, d: int) -> list[Params]:  # noqa: ARG001
    """One bit per dimension, with coarse cells."""
    return [{"factory": f"RR,IVF{cell_counts(n)[0]},RaBitQfs,RFlat"}]

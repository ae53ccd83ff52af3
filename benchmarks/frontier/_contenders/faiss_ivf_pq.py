"""FAISS IVF with 4-bit product quantisation (FastScan) and re-ranking by the float32 vectors."""

from __future__ import annotations

from frontier._contenders import Params, _faiss, cell_counts, grid

TITLE = "FAISS IVF-PQ"
PACKAGE = "faiss-cpu"
SEARCHES = grid(nprobe=[32, 64, 128, 256], k_factor=[10, 20, 40, 80])
Index = _faiss.CellIndex


def builds(n: int, d: int) -> list[Params]:
    """Rotated codes (OPQ) with the number of cells that did best in trials; for few dimensions also residual codes.

    Rotations of very many dimensions take too long to learn: there codes are of the vectors as they are.
    """
    coarse, fine = cell_counts(n)
    if d > 1000:
        return [{"factory": f"IVF{coarse},PQ{d // 4}x4fs,RFlat"}]
    m = max(1, min(64, d // 4 * 2))  # symbols of 4 bits
    rotation = f"OPQ{m}_{min(d // m, 4) * m}"
    cells = (coarse, fine) if d <= 64 else (fine,) if d <= 256 else (2 * coarse,)
    factories = [f"{rotation},IVF{count},PQ{m}x4fs,RFlat" for count in cells]
    residual = [f"IVF{fine},PQ{d // 2}x4fsr,RFlat"] if d <= 64 else []
    return [{"factory": factory} for factory in [*factories, *residual]]

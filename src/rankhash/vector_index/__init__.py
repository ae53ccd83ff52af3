"""True neighbours of vectors: [`VectorIndex`][rankhash.VectorIndex].

::

    add ─▶ Rows (the vectors)  ─────────────────────────────────────────────────┐
       └─▶ Cells: nearest centroid ─▶ RankQuantizer code of what is left         │
    search ─▶ nearest cells ─▶ scan of their codes ─▶ candidates ─▶ true distances ─▶ Neighbors
"""

from .index import VectorIndex

__all__ = ["VectorIndex"]

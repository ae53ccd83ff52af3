"""The only access to the native core: typed, documented functions of arrays that are already checked.

Python allocates, the core computes. Nothing else in the package imports ``_native``.
"""

from __future__ import annotations

import os

from .._types import F32, F64, I32, I64, U8, U32
from ._cells import (
    CELL_BLOCK,
    PANEL,
    ROW_TYPES,
    CellSearch,
    CellStats,
    CellsView,
    RowsView,
    as_panels,
    assign_cells,
    rank_rows,
    search_cells,
    search_rows,
    unit_rows,
)
from ._codes import (
    BLOCK,
    SLICE,
    allocate_blocks,
    encode,
    encode_windows,
    first_invalid_code,
    first_invalid_position,
    first_nonfinite_row,
    inner_products,
    pack,
    packed_bytes,
    project,
    read_slices,
    unpack,
    write_slices,
    write_slices_at,
)
from ._join import JoinTables, Nearness, connect, join
from ._learning import PairTotals, pad_columns, pair_gradient, pair_histograms, pair_slopes, refine, train_pairs
from ._lookup import (
    LOOKUP_STATS,
    ROW_PADDING,
    KeyArrays,
    Segment,
    SingleQuery,
    TablesView,
    Weights,
    build_segment,
    lookup,
    lookup_costs,
    lookup_radius,
)
from ._machine import CpuInfo, cpu_info, default_threads, ending_at, resolve_threads, use_isa
from ._scan import CodesView, search, search_radius, search_scores, search_scores_radius

__all__ = [
    "BLOCK",
    "CELL_BLOCK",
    "F32",
    "F64",
    "I32",
    "I64",
    "LOOKUP_STATS",
    "PANEL",
    "ROW_PADDING",
    "ROW_TYPES",
    "SLICE",
    "U8",
    "U32",
    "CellSearch",
    "CellStats",
    "CellsView",
    "CodesView",
    "CpuInfo",
    "JoinTables",
    "KeyArrays",
    "Nearness",
    "PairTotals",
    "RowsView",
    "Segment",
    "SingleQuery",
    "TablesView",
    "Weights",
    "allocate_blocks",
    "as_panels",
    "assign_cells",
    "build_segment",
    "connect",
    "cpu_info",
    "default_threads",
    "encode",
    "encode_windows",
    "ending_at",
    "first_invalid_code",
    "first_invalid_position",
    "first_nonfinite_row",
    "inner_products",
    "join",
    "lookup",
    "lookup_costs",
    "lookup_radius",
    "pack",
    "packed_bytes",
    "pad_columns",
    "pair_gradient",
    "pair_histograms",
    "pair_slopes",
    "project",
    "rank_rows",
    "read_slices",
    "refine",
    "resolve_threads",
    "search",
    "search_cells",
    "search_radius",
    "search_rows",
    "search_scores",
    "search_scores_radius",
    "train_pairs",
    "unit_rows",
    "unpack",
    "use_isa",
    "write_slices",
    "write_slices_at",
]

if "RANKHASH_ISA" in os.environ:
    use_isa(os.environ["RANKHASH_ISA"])

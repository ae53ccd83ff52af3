"""The one door to the native core: typed, documented calls on arrays that were checked before.

Python allocates, the core computes. Nothing else in the package imports ``_native``.
"""

from __future__ import annotations

import os

from ._codes import (
    BLOCK,
    SLICE,
    allocate_blocks,
    encode,
    encode_windows,
    first_invalid_code,
    first_nonfinite_row,
    pack,
    packed_bytes,
    project,
    read_slices,
    unpack,
    write_slices,
    write_slices_at,
)
from ._learning import PairTotals, pad_columns, pair_gradient, pair_histograms, pair_slopes, refine, train_pairs
from ._lookup import (
    LOOKUP_STATS,
    ROW_PADDING,
    KeyArrays,
    Lone,
    Segment,
    TablesView,
    Weights,
    build_segment,
    lookup,
    lookup_costs,
    lookup_radius,
)
from ._machine import CpuInfo, cpu_info, default_threads, resolve_threads, use_isa
from ._scan import CodesView, search, search_radius, search_tables, search_tables_radius
from ._types import F32, F64, I32, I64, U8, U32

__all__ = [
    "BLOCK",
    "F32",
    "F64",
    "I32",
    "I64",
    "LOOKUP_STATS",
    "ROW_PADDING",
    "SLICE",
    "U8",
    "U32",
    "CodesView",
    "CpuInfo",
    "KeyArrays",
    "Lone",
    "PairTotals",
    "Segment",
    "TablesView",
    "Weights",
    "allocate_blocks",
    "build_segment",
    "cpu_info",
    "default_threads",
    "encode",
    "encode_windows",
    "first_invalid_code",
    "first_nonfinite_row",
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
    "read_slices",
    "refine",
    "resolve_threads",
    "search",
    "search_radius",
    "search_tables",
    "search_tables_radius",
    "train_pairs",
    "unpack",
    "use_isa",
    "write_slices",
    "write_slices_at",
]

if "RANKHASH_ISA" in os.environ:
    use_isa(os.environ["RANKHASH_ISA"])

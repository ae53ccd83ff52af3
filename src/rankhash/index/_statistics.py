"""Reports on look-up: work per query, and the choice between look-up and scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from .._types import F64, I64


class LookupStatistics(NamedTuple):
    """The work of look-up per query; all arrays have the shape ``(n_queries,)``."""

    probes: I64
    """Keys that were probed, including those of empty buckets."""
    buckets: I64
    """Probed buckets that were not empty."""
    candidates: I64
    """Codes that were compared with the query."""
    duplicates: I64
    """Near codes that another table had returned before."""
    hits: I64
    """Number of results."""
    radius: I64
    """Largest distance up to which look-up has compared every code; -1 if look-up was not tried."""
    scanned: NDArray[np.bool_]
    """Whether all codes were scanned, instead of or after look-up."""
    nanoseconds: I64
    """Time of look-up, without the scan that may follow."""


@dataclass(frozen=True)
class Explanation:
    """The answer of [`LookupIndex.explain`][rankhash.LookupIndex.explain]: look-up or scan, and the reason."""

    method: str
    """``"lookup"`` or ``"scan"``."""
    reason: str
    statistics: LookupStatistics
    estimated_lookup: float
    """Estimated nanoseconds of look-up, up to its end or to the limit, by the cost model."""
    estimated_scan: float
    """Nanoseconds of a scan, as measured on this machine."""
    allowed: float
    """Cost limit of look-up, in nanoseconds."""

    def __str__(self) -> str:
        return f"{self.method}: {self.reason}"


def statistics_of(numbers: F64) -> LookupStatistics:
    """The counters `LOOKUP_STATS` of the core, by name."""
    columns = dict(zip(_kernels.LOOKUP_STATS, numbers.T.astype(np.int64), strict=True))
    scanned = columns.pop("scanned").astype(bool)
    del columns["cost"]
    return LookupStatistics(**columns, scanned=scanned)

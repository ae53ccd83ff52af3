"""When look-up is worth its cost: estimates in nanoseconds, and how long a query may try before it is scanned.

A query that tries the tables for a time t and is then scanned has lost t. How long to try follows from how long
others like it took: some of the stored codes are looked up as if they were queries, and the time is chosen that makes
their mean cost, scans included, smallest. If that is not clearly below the scan's, queries do not try at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..codes import CodeLayout

F64 = NDArray[np.float64]
U8 = NDArray[np.uint8]

SCAN_ONE = 0.4
"""Nanoseconds a code of 64 bits in the scan of a few queries."""
SCAN_MANY = 0.12
"""The same among many queries, which share the reading."""
MANY = 7
"""Queries that are many."""
RADIUS_SHARE = 0.5
"""What share of the scan's cost a search by radius may try for: it knows beforehand how far it must go."""

KS = (1, 10, 100, 1000)
SAMPLE = 64
_WORTH = 0.9  # mean cost beside the scan's from which trying is worth it
_MARGIN = 1.25  # tries may take a little longer than those of the sample


def scan_cost(layout: CodeLayout, n: int, n_queries: int) -> float:
    """What a query costs in a scan of ``n`` codes for ``n_queries`` at once."""
    return (SCAN_MANY if n_queries >= MANY else SCAN_ONE) * n * max(layout.bits, 16) / 64


def best_try(costs: F64, scan: float) -> float:
    """How long to try if look-ups cost ``costs`` and the way out ``scan``; 0: not at all.

    As long as makes the mean of the sample smallest. But queries may lie farther from the codes than the codes do from
    each other, so that a try may also cost half of what one saves on average: then it pays as long as a third of the
    queries is like the sample.
    """
    finite = np.sort(costs[np.isfinite(costs)])
    done = np.arange(1, len(finite) + 1)
    lost = len(costs) - done
    means = (np.cumsum(finite) + lost * (finite + scan)) / max(len(costs), 1)
    if len(finite) == 0 or means.min() > _WORTH * scan:
        return 0.0
    return max(float(finite[means.argmin()]) * _MARGIN, (scan - float(means.min())) / 2)


@dataclass
class CostModel:
    """How long queries may try, by k, for a few and for many queries at once."""

    n_codes: int = 0
    """How many codes there were when the sample was taken."""
    tries: dict[int, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def measure(cls, layout: CodeLayout, view: _kernels.TablesView, codes: U8, n_threads: int) -> CostModel:
        """The model of an index, from some of its own codes as queries."""
        n = view.n_sealed
        one, many = scan_cost(layout, n, 1), scan_cost(layout, n, MANY)
        model = cls(n)
        for k in KS:
            if 4 * k > n:
                break
            costs = _kernels.lookup_costs(view, codes, k + 1, one, n_threads)  # k besides itself
            model.tries[k] = (best_try(costs, one), best_try(costs, many))
            if model.tries[k] == (0.0, 0.0):
                break
        return model

    def state(self) -> dict[str, Any]:
        """Plain numbers for a file."""
        return {"n_codes": self.n_codes, "tries": [[k, *tries] for k, tries in self.tries.items()]}

    @classmethod
    def restore(cls, state: dict[str, Any]) -> CostModel:
        """The model of such numbers."""
        return cls(int(state["n_codes"]), {int(k): (float(one), float(many)) for k, one, many in state["tries"]})

    def is_stale(self, n: int) -> bool:
        """Whether the tables have become twice as large, or half."""
        return not self.n_codes / 2 < n < 2 * self.n_codes

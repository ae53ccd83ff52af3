"""The course of learning, as ``history_`` holds it: lists of equal length, one entry per record."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .._types import F64
from .base import History
from .parameters import Callback

N_RECORDS = 25
"""Largest number of records per fit."""


class Records:
    """Records of the numbers ``names``, at up to 25 of ``n_steps`` steps; each is passed to ``callback``, if any."""

    def __init__(self, names: tuple[str, ...], n_steps: int, callback: Callback | None) -> None:
        self.history: History = {name: [] for name in names}
        self._due = {int(step) for step in np.linspace(0, n_steps - 1, N_RECORDS)}
        self._callback = callback

    def is_due(self, step: int) -> bool:
        """Whether the step is recorded."""
        return step in self._due

    def add(self, *numbers: float) -> None:
        """Append one record; its numbers are in the order of the names."""
        record: dict[str, Any] = dict(zip(self.history, numbers, strict=True))
        for name, number in record.items():
            self.history[name].append(number)
        if self._callback is not None:
            self._callback(record)


def mean_records(name: str, values: F64, n_records: int) -> History:
    """``step`` and the means of ``values``, one per step, over ``n_records`` consecutive parts of nearly equal size."""
    ends = np.unique(np.linspace(0, len(values), n_records + 1).astype(int))
    means = [float(values[low:high].mean()) for low, high in pairwise(ends)]
    return {"step": ends[1:].astype(float).tolist(), name: means}

"""Experiments across views: methods on a data set of several views, one row of raw results per method, length and seed.

::

    ViewDataset ─▶ split ─▶ fit on the training items ─▶ queries (test items) against the training items: "seen"
                                                      ─▶ queries against the test items themselves: "unseen"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any, Protocol

import numpy as np

from ..datasets import ViewDataset
from ..errors import RankhashError, unknown_name
from ..hashers import CCAITQ, CMFH, LSRH, SCM, CrossJRSH, ViewHasher
from .cross_modal import Direction, evaluate_views
from .origin import origin
from .store import Row, Store

LENGTHS = (16, 32, 64)
"""Bits per code by default."""

FIRST = 50
"""Items per query of the shorter mean average precision."""

DATABASES = {
    "seen": "Database: the training items, as in the figures published for such sets",
    "unseen": "Database: the test items, none of which was learned from",
}
"""Where the queries, which are the test items, are searched."""


class Maker(Protocol):
    """Makes a hasher of a number of bits."""

    def __call__(self, *, n_bits: int, random_state: int) -> ViewHasher:
        """The hasher, not fitted."""


VIEW_METHODS: dict[str, Maker] = {
    "CrossJRSH": partial(CrossJRSH, verbose=False),
    "LSRH": LSRH,
    "SCM": SCM,
    "CMFH": CMFH,
    "CCAITQ": CCAITQ,
}
"""The methods that are compared across views."""


@dataclass(frozen=True)
class ViewTask:
    """One run."""

    method: str
    bits: int
    seed: int


@dataclass(frozen=True)
class ViewExperiment:
    """Methods, code lengths and seeds on a data set of several views."""

    data: ViewDataset
    methods: Sequence[str] = tuple(VIEW_METHODS)
    lengths: Sequence[int] = LENGTHS
    seeds: Sequence[int] = tuple(range(5))

    def __post_init__(self) -> None:
        for name in self.methods:
            if name not in VIEW_METHODS:
                raise unknown_name("method", name, [*VIEW_METHODS])

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that comparable rows share."""
        n = len(self.data.labels)
        n_train = len(self.data.split(0)[0])
        widths = {name: int(table.shape[1]) for name, table in self.data.views.items()}
        return {"n_train": n_train, "n_queries": n - n_train, "widths": widths}

    def rows(self, store: Store) -> list[Row]:
        """The finished runs of this experiment."""
        wanted = {(task.method, task.bits, task.seed) for task in self.tasks()}
        return [
            row
            for row in store.rows(self.data.name)
            if row["settings"] == self.settings and (row["method"], row.get("bits"), row["seed"]) in wanted
        ]

    def tasks(self) -> list[ViewTask]:
        """All runs, seed by seed."""
        return [ViewTask(name, bits, seed) for seed in self.seeds for bits in self.lengths for name in self.methods]

    def run(self, store: Store, *, again: bool = False) -> Iterator[tuple[ViewTask, str | None]]:
        """Every run that is missing (or ``again``, False by default, every run), with the reason if it failed."""
        done = set() if again else {(row["method"], row["bits"], row["seed"]) for row in self.rows(store)}
        for task in self.tasks():
            if (task.method, task.bits, task.seed) not in done:
                try:
                    store.add(self._measured(task))
                except RankhashError as error:
                    yield task, str(error)
                else:
                    yield task, None

    def _measured(self, task: ViewTask) -> Row:
        hasher = VIEW_METHODS[task.method](n_bits=task.bits, random_state=task.seed)
        train, test = (
            ([table[rows] for table in self.data.views.values()], self.data.labels[rows])
            for rows in self.data.split(task.seed)
        )
        began = process_time()
        hasher.fit(dict(zip(self.data.views, train[0], strict=True)), train[1])
        layout, seconds = hasher.layout_, process_time() - began
        row: Row = {"set": self.data.name, "method": task.method, "seed": task.seed, "settings": self.settings}
        row |= {"n_symbols": layout.n_symbols, "arity": layout.arity, "bits": task.bits}
        row |= {"fit_seconds": round(seconds, 3), "origin": origin()}
        for name, database in (("seen", train), ("unseen", test)):
            row[name] = [_facts(one) for one in evaluate_views(hasher, *test, *database)]
        return row


def _facts(direction: Direction) -> dict[str, Any]:
    """The numbers of one direction."""
    return {
        "direction": direction.name,
        "map": round(direction.mean_average_precision(), 5),
        "map50": round(direction.mean_average_precision(FIRST), 5),
        "precision": np.round(direction.precision_recall()[1], 5).tolist(),
    }

"""The contenders: one file each, all with the same names in the same order.

::

    TITLE           what tables and figures call it
    PACKAGE         what pip installs
    builds(n, d)    parameters to build with
    SEARCHES        parameters to search with
    Index           build(X, metric, **params) · save(path) · load(path, X, metric) · search(Q, k, **params) → ids
                    ram(n) → bytes per vector in memory, if not those of its file

A module is imported only when it is wanted: one whose package is not installed is left out, with a word about it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from rankhash._types import F32, I64

Params = dict[str, Any]
MODULES = (
    "vector_index",
    "scann_tree",
    "faiss_ivf_pq",
    "faiss_ivf_rabitq",
    "faiss_hnsw",
    "hnswlib_graph",
    "usearch_graph",
)
OURS = "vector_index"


class Index(Protocol):
    """A built index; ``search`` runs on one thread and returns ids ``(n_queries, k)``, -1 where nothing was found."""

    @classmethod
    def build(cls, X: F32, metric: str, **params: Any) -> Index: ...

    def save(self, path: Path) -> None: ...

    @classmethod
    def load(cls, path: Path, X: F32, metric: str) -> Index: ...

    def search(self, Q: F32, k: int, **params: Any) -> I64: ...


class Contender(Protocol):
    """A module of this folder."""

    TITLE: str
    PACKAGE: str
    SEARCHES: list[Params]
    Index: type[Index]
    builds: Callable[[int, int], list[Params]]


def contender(module: str) -> Contender:
    """The module of that name; ModuleNotFoundError if its package is not installed."""
    found: Any = import_module(f"frontier._contenders.{module}")
    return cast("Contender", found)


def installed() -> dict[str, Contender]:
    """The contenders whose packages are here; the others are named aloud."""
    found: dict[str, Contender] = {}
    for module in MODULES:
        try:
            found[module] = contender(module)
        except ModuleNotFoundError as error:
            print(
                f"frontier: {module} is left out: {error.name} is not installed (pip install {error.name})", flush=True
            )
    return found


def grid(**values: list[Any]) -> list[Params]:
    """Every combination of the values.

    >>> grid(a=[1, 2], b=[3])
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    return [dict(zip(values, combination, strict=True)) for combination in product(*values.values())]


def cell_counts(n: int) -> tuple[int, int]:
    """The power of two nearest to √n, and four times as many: coarse and fine cells.

    >>> cell_counts(400_000)
    (512, 2048)
    """
    coarse = 2 ** round(np.log2(np.sqrt(n)))
    return coarse, 4 * coarse


def named(params: Params) -> str:
    """Parameters as text.

    >>> named({"M": 16, "ef": 80})
    'M=16, ef=80'
    """
    return ", ".join(f"{name}={value}" for name, value in params.items())

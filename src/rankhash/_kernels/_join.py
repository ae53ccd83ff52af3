"""All pairs of near codes, and the sets that pairs connect."""

from __future__ import annotations

from typing import NamedTuple

from .. import _native
from .._types import F32, I64, INT64, U8, U64


class JoinTables(NamedTuple):
    """The hash tables of a join: near codes share a bucket of at least one table over the bits of some runs of symbols.

    ``runs`` (n_runs, n_words) are disjoint masks of a code's bits. Near codes agree in at least m runs. ``tables`` has
    an entry for every choice of m runs; bit r of an entry stands for run r.
    """

    runs: U64
    tables: list[int]


class Nearness(NamedTuple):
    """The definition of near pairs: a distance of at most ``radius`` by ``weights`` (None: 1 per symbol), and at most
    ``max_differing`` differing symbols."""

    radius: float
    weights: F32 | None
    max_differing: int


def join(
    codes: U8,
    span: tuple[int, int],
    others: U8 | None,
    layout: tuple[int, int],
    near: Nearness,
    how: JoinTables,
    limit: int,
    n_threads: int,
) -> tuple[I64, I64, F32] | None:
    """Positions (first, second) and distances of all near pairs in the order (first, second); None if over ``limit``.

    First members are the codes ``span[0]`` … ``span[1] - 1``; second members are the codes after the first one, or
    ``others``.
    """
    found = _native.join(
        codes,
        *span,
        others,
        *layout,
        how.runs,
        how.tables,
        near.max_differing,
        near.weights,
        near.radius,
        limit,
        n_threads,
    )
    return None if found is None else (found[0].view(INT64), found[1].view(INT64), found[2])


def connect(parents: I64, first: I64, second: I64) -> None:
    """Union-find in place: merge the sets of each pair; ``parents[i] <= i`` leads to the smallest member of i's set."""
    _native.connect(parents, first, second)

"""All pairs of near codes, and the sets that pairs connect."""

from __future__ import annotations

from typing import NamedTuple

from .. import _native
from .._types import F32, I64, INT64, U8, U64


class JoinTables(NamedTuple):
    """How near codes meet: in a bucket of a hash table over the bits of some runs of symbols.

    ``runs`` (n_runs, n_words) are disjoint masks of a code's bits. Bit r of an entry of ``tables`` stands for run r;
    there must be an entry for every choice of as many runs as near codes agree in at least.
    """

    runs: U64
    tables: list[int]


class Nearness(NamedTuple):
    """Which pairs are near: by ``weights`` (None: 1 per symbol) at most ``radius``, and in at most ``max_differing``
    symbols."""

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

    First members are the codes ``span[0]`` … ``span[1] - 1``; second members are the codes behind the first one, or
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
    """Join the sets of each pair's members in place: ``parents[i] <= i`` leads to the smallest member of i's set."""
    _native.connect(parents, first, second)

"""All pairs of codes within a radius: [`near_pairs`][rankhash.near_pairs]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import _kernels
from .._checks import check_integer, check_radius
from .._types import F32, I64
from ..codes import CodeLayout
from ..errors import LayoutMismatchError, TooManyPairsError
from ..index import Index
from ._inputs import as_join_codes, as_weights
from ._plan import choose_plan, nearness
from ._stream import Join

MAX_PAIRS = 10**9
BATCH_PAIRS = 1 << 20
_CAPACITY = 1 << 24  # pairs in memory at a time


class Pairs(NamedTuple):
    """Pairs of ids in the order (first, second), and their distances.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = Pairs(np.array([0, 0]), np.array([2, 5]), np.array([1, 3], np.float32))
    >>> len(pairs.first), int(pairs.second[-1])
    (2, 5)
    """

    first: I64
    """(n_pairs,); within one set of codes smaller than ``second``"""

    second: I64
    """(n_pairs,)"""

    distances: F32
    """(n_pairs,)"""


class NearPairs:
    """The pairs that [`near_pairs`][rankhash.near_pairs] finds, computed during iteration.

    Attributes
    ----------
    estimate : float
        The number of pairs, estimated from a sample of the codes.
    method : str
        ``"tables"`` or ``"scan"``, whichever was estimated to be faster.
    n_codes : int
        How many codes first members come from.
    """

    def __init__(self, join: Join, max_pairs: int | None) -> None:
        self._join, self._max_pairs = join, max_pairs
        self.n_codes = len(join.firsts.codes)
        self.method = join.plan.method
        self.estimate = join.estimate()
        if max_pairs is not None and self.estimate > max_pairs:
            raise TooManyPairsError(max_pairs, self.estimate)

    def __iter__(self) -> Iterator[Pairs]:
        """Batches of up to a million pairs; every iteration computes them again."""
        return self.batches(BATCH_PAIRS)

    def __repr__(self) -> str:
        return f"NearPairs(about {self.estimate:.2g} pairs of {self.n_codes} codes, by {self.method})"

    def batches(self, size: int) -> Iterator[Pairs]:
        """Batches of ``size`` pairs; batches at the end of a range of ids, and the last one, may be smaller."""
        check_integer("size", size)
        join, n_pairs = self._join, 0
        for first, second, distances in join.ranges(self.estimate, max(_CAPACITY, size)):
            n_pairs += len(first)
            self._check_number(n_pairs, int(first[-1]) if len(first) else 0)
            for start in range(0, len(first), size):
                some = slice(start, start + size)
                seconds = (join.others or join.firsts).named(second[some])
                yield Pairs(join.firsts.named(first[some]), seconds, distances[some])

    def to_arrays(self) -> Pairs:
        """All pairs at once."""
        batches = [Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32)), *self]
        return Pairs(*(np.concatenate(arrays) for arrays in zip(*batches, strict=True)))

    def _check_number(self, n_pairs: int, last: int) -> None:
        if self._max_pairs is not None and n_pairs > self._max_pairs:
            raise TooManyPairsError(self._max_pairs, n_pairs * self.n_codes / (last + 1))


def near_pairs(
    codes: Index | ArrayLike,
    radius: float,
    *,
    other: Index | ArrayLike | None = None,
    layout: CodeLayout | None = None,
    weights: ArrayLike | None = None,
    max_pairs: int | None = MAX_PAIRS,
    n_threads: int | None = None,
) -> NearPairs:
    """All pairs of codes at most ``radius`` apart, exactly, each once, in the order (first id, second id).

    The pairs are found through hash tables over runs of symbols, or by comparing all codes, whichever is faster by an
    estimate from a sample. They are computed during iteration over the result, in bounded memory: up to 16 million
    pairs (less than a gigabyte), and for each code two copies and 12 bytes. Changes of an index after the call have no
    effect on the result.

    Parameters
    ----------
    codes
        An index, or codes ``(n, n_bytes)``, whose positions are their ids.
    radius
        The largest distance: differing symbols, or the sum of their weights.
    other
        Another index or codes of the same layout: pairs then have their second member there. None (default) joins
        ``codes`` with themselves: a pair has ``first < second``.
    layout
        The layout of codes that are given as an array. None (default): every bit is a symbol.
    weights
        Cost of a difference in each symbol, (n_symbols,). None (default): 1.
    max_pairs
        Largest number of pairs; 1,000,000,000 by default, None for no limit. More are an error, which is raised before
        the search if a sample shows it.
    n_threads
        None (default) uses every core that this process may use.

    Examples
    --------
    >>> import numpy as np
    >>> from rankhash import near_pairs
    >>> codes = np.array([[0b0000], [0b1111], [0b0001], [0b0111]], np.uint8)
    >>> near_pairs(codes, radius=1).to_arrays()
    Pairs(first=array([0, 1]), second=array([2, 3]), distances=array([1., 1.], dtype=float32))
    """
    firsts = as_join_codes(codes, layout)
    others = None if other is None else as_join_codes(other, None if isinstance(other, Index) else firsts.layout)
    if others is not None and (others.layout.n_symbols, others.layout.arity) != firsts.shape:
        raise LayoutMismatchError(
            f"other must have codes of {firsts.layout.n_symbols} symbols of arity {firsts.layout.arity}, got "
            f"{others.layout.n_symbols} of arity {others.layout.arity}"
        )
    if max_pairs is not None:
        check_integer("max_pairs", max_pairs, 0)
    near = nearness(firsts.layout, check_radius(radius), as_weights(weights, firsts.layout))
    threads = _kernels.resolve_threads(n_threads)
    return NearPairs(Join(firsts, others, near, choose_plan(firsts, others, near), threads), max_pairs)

"""Exhaustive search: every code is compared, 256 at a time."""

from __future__ import annotations

import math
from typing import ClassVar

from numpy.typing import ArrayLike

from .. import _kernels
from .._checks import check_radius
from ..neighbors import Neighbors, RadiusNeighbors
from ._arguments import check_k, weight_tables
from ._base import Index


class FlatIndex(Index):
    """An index that scans all of its codes.

    A code takes ``layout.bits`` bits, and 8 bytes more if ids are given explicitly. Any number of threads may search at
    the same time; a change must not run concurrently with any other call.

    Parameters
    ----------
    layout
        The layout of the codes: the hasher's ``layout_``.

    Examples
    --------
    >>> import numpy as np
    >>> from rankhash import CodeLayout, FlatIndex
    >>> layout = CodeLayout(n_symbols=4, arity=3)
    >>> index = FlatIndex(layout)
    >>> index.add(layout.pack([[0, 1, 2, 0], [0, 1, 2, 1], [2, 2, 2, 2]]))
    array([0, 1, 2])
    >>> index.search(layout.pack([[0, 1, 2, 1]]), k=2)
    Neighbors(ids=array([[1, 0]]), distances=array([[0., 1.]], dtype=float32))
    """

    kind: ClassVar[str] = "flat"

    def search(
        self,
        codes: ArrayLike,
        k: int,
        *,
        weights: ArrayLike | None = None,
        filter: ArrayLike | None = None,
        n_threads: int | None = None,
    ) -> Neighbors:
        """The k nearest codes of each query.

        Parameters
        ----------
        codes
            The codes of the queries, ``(n_queries, n_bytes)``.
        k
            Number of neighbours per query. If fewer codes can be found, the remaining places have id -1 and an
            infinite distance.
        weights
            Cost of a difference in each symbol, ``(n_symbols,)``; sums are computed in double precision and rounded
            once. None (default): every difference costs 1.
        filter
            The codes that may be found: integer ids (unknown ids are ignored), a boolean mask over ``ids``, or that
            mask as a ``uint8`` bitmap (``numpy.packbits(mask, bitorder="little")``). None (default): all codes.
        n_threads
            Number of threads. None (default): every core that this process may use.
        """
        checked = self.layout.check(codes)
        k = check_k(k, len(checked))
        if weights is not None:
            tables = weight_tables(self.layout, checked, weights)
            return self.search_scores(tables, k, filter=filter, n_threads=n_threads)
        threads = _kernels.resolve_threads(n_threads)
        return Neighbors(*_kernels.search(self._view(filter), checked, k, threads))

    def search_radius(
        self,
        codes: ArrayLike,
        radius: float,
        *,
        weights: ArrayLike | None = None,
        filter: ArrayLike | None = None,
        n_threads: int | None = None,
    ) -> RadiusNeighbors:
        """All codes within a distance of each query.

        Parameters
        ----------
        codes
            The codes of the queries, ``(n_queries, n_bytes)``.
        radius
            Largest distance.
        weights, filter, n_threads
            As in [`FlatIndex.search`][rankhash.FlatIndex.search]; all None by default.
        """
        checked = self.layout.check(codes)
        radius = check_radius(radius)
        threads = _kernels.resolve_threads(n_threads)
        if weights is not None:
            tables = weight_tables(self.layout, checked, weights)
            return RadiusNeighbors(*_kernels.search_scores_radius(self._view(filter), tables, radius, threads))
        whole = min(math.floor(radius), self.layout.n_symbols)
        return RadiusNeighbors(*_kernels.search_radius(self._view(filter), checked, whole, threads))

"""Exhaustive search: every code is compared, 256 at a time."""

from __future__ import annotations

import math
from typing import ClassVar

from numpy.typing import ArrayLike

from .. import _kernels
from ..neighbors import Neighbors, RadiusNeighbors
from ._base import Index


class FlatIndex(Index):
    """An index that scans all of its codes.

    It holds ``layout.bits`` bits a code, and 8 bytes more for ids that are given explicitly. Searches may run in many
    threads at once; a change must not run beside anything else.

    Parameters
    ----------
    layout
        The shape of the codes: the hasher's ``layout_``.

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
        """The k nearest codes of each query code.

        Parameters
        ----------
        codes
            The queries, (n_queries, n_bytes).
        k
            How many; places that cannot be filled have id -1 and an infinite distance.
        weights
            What a differing symbol costs, (n_symbols,), instead of 1. Distances are then added in double precision
            and rounded once.
        filter
            Which codes may be found: integer ids (unknown ones are passed over), a boolean mask over :attr:`ids`, or
            that mask as a ``uint8`` bitmap (``numpy.packbits(mask, bitorder="little")``).
        n_threads
            None uses every core that this process may use.
        """
        checked = self.layout.check(codes)
        k = self._check_k(k, len(checked))
        if weights is not None:
            return self.search_tables(self._weight_tables(checked, weights), k, filter=filter, n_threads=n_threads)
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
        """All codes within ``radius`` of each query code, however many; parameters as in :meth:`search`."""
        checked = self.layout.check(codes)
        radius = self._check_radius(radius)
        threads = _kernels.resolve_threads(n_threads)
        if weights is not None:
            tables = self._weight_tables(checked, weights)
            return RadiusNeighbors(*_kernels.search_tables_radius(self._view(filter), tables, radius, threads))
        whole = min(math.floor(radius), self.layout.n_symbols)
        return RadiusNeighbors(*_kernels.search_radius(self._view(filter), checked, whole, threads))

"""The contract of an index: codes in, neighbours out, the same answers from every kind of index.

An index knows a layout, never a hasher. Its searches are exact and ordered by (distance, id). Answers do not depend on
the number of threads, the instruction set or the batch in which a query arrives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import _files, _kernels
from .._checks import check_ids, check_integer, new_ids
from .._parquet import GROUP_ROWS, CodesWriter
from .._types import I64, U8
from ..codes import CodeLayout
from ..errors import FileFormatError, InvalidInputError, TakenIdError, UnknownIdError
from ..neighbors import Neighbors, RadiusNeighbors
from ._arguments import check_k, check_score_tables
from ._file_checks import check_codes
from ._masks import mask
from ._occupancy import RADII, Occupancy, occupancy
from ._store import CodeStore

_MOST_CODES = 1 << 40


class Index(ABC):
    """Codes with ids: the interface that all kinds of index share.

    Parameters
    ----------
    layout
        The layout of the codes: the hasher's ``layout_``.
    """

    kind: ClassVar[str]
    _store_class: ClassVar[type[CodeStore]] = CodeStore

    def __init__(self, layout: CodeLayout) -> None:
        if not isinstance(layout, CodeLayout):
            raise InvalidInputError(f"layout must be a CodeLayout (a hasher's layout_), got {layout!r}")
        self._store = self._store_class(layout)

    def __len__(self) -> int:
        """The number of codes, without removed ones."""
        return len(self._store)

    def __repr__(self) -> str:
        layout = self.layout
        return f"{type(self).__name__}({len(self)} codes of {layout.n_symbols} symbols of arity {layout.arity})"

    @property
    def layout(self) -> CodeLayout:
        """The layout of the codes."""
        return self._store.layout

    @property
    def ids(self) -> I64:
        """The ids of all codes, ascending."""
        return self._store.ids_at(self._store.positions_by_id())

    @property
    def nbytes(self) -> int:
        """The memory that the index takes, in bytes."""
        return self._store.nbytes

    # -- codes in and out ------------------------------------------------------------------------------------------

    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> I64:
        """The ids of codes that were added.

        Parameters
        ----------
        codes
            Packed codes, ``(n, n_bytes)``.
        ids
            Non-negative 64-bit integers that are not in the index, ``(n,)``. None (default) continues after the
            largest id so far, starting at 0.

        Raises
        ------
        TakenIdError
            If an id is already in the index; then nothing is added.
        """
        checked = self.layout.check(codes)
        numbers = new_ids(self._store.next_id, len(checked)) if ids is None else self._free_ids(ids, len(checked))
        self._store.add(checked, numbers)
        return numbers

    def upsert(self, codes: ArrayLike, ids: ArrayLike) -> None:
        """Replace the codes of ids that are in the index, and add the codes of all other ids."""
        checked = self.layout.check(codes)
        numbers = check_ids(ids, len(checked))
        positions = self._store.find_living(numbers)
        known = positions >= 0
        with self._store.changing():
            self._store.write(positions[known], checked[known])
            self._store.add(checked[~known], numbers[~known])

    def remove(self, ids: ArrayLike) -> None:
        """Remove codes by their ids; an unknown id is an UnknownIdError, and then nothing is removed."""
        self._store.remove(self._positions(check_ids(ids, None)))

    def get(self, ids: ArrayLike) -> U8:
        """The codes ``(n, n_bytes)`` of the given ids."""
        return self._store.codes_at(self._positions(check_ids(ids, None, unique=False)))

    def reserve(self, n_codes: int) -> None:
        """Make room for ``n_codes`` codes in all, so that adding up to that many copies none of them.

        Codes that come in batches from a generator or a file then need no more memory than the codes and one batch.
        The system gives memory when a code is written, not before.
        """
        self._store.reserve(check_integer("n_codes", n_codes, 0, _MOST_CODES))

    def compact(self) -> None:
        """Free the memory of removed codes now; it happens by itself when a quarter of the codes is removed."""
        self._store.compact()

    # -- search ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def search(
        self,
        codes: ArrayLike,
        k: int,
        *,
        weights: ArrayLike | None = None,
        filter: ArrayLike | None = None,
        n_threads: int | None = None,
    ) -> Neighbors:
        """The k nearest codes of each query; see [`FlatIndex.search`][rankhash.FlatIndex.search]."""

    def search_scores(
        self, score_tables: ArrayLike, k: int, *, filter: ArrayLike | None = None, n_threads: int | None = None
    ) -> Neighbors:
        """The k codes with the smallest sums of score-table entries, exactly; every kind of index scans all codes.

        Parameters
        ----------
        score_tables
            ``(n_queries, n_symbols, arity)``: the contribution of each value of each symbol to the distance, such as
            a hasher's ``score_tables``.
        k, filter, n_threads
            As in [`FlatIndex.search`][rankhash.FlatIndex.search]; the defaults of ``filter`` and ``n_threads`` are
            None.
        """
        checked = check_score_tables(self.layout, score_tables)
        k = check_k(k, len(checked))
        threads = _kernels.resolve_threads(n_threads)
        return Neighbors(*_kernels.search_scores(self._view(filter), checked, k, threads))

    @abstractmethod
    def search_radius(
        self,
        codes: ArrayLike,
        radius: float,
        *,
        weights: ArrayLike | None = None,
        filter: ArrayLike | None = None,
        n_threads: int | None = None,
    ) -> RadiusNeighbors:
        """All codes within a radius of queries; see [`FlatIndex.search_radius`][rankhash.FlatIndex.search_radius]."""

    def occupancy(self, *, n_sample: int = 256) -> Occupancy:
        """The distribution of the codes over buckets of equal codes, which shows whether the codes suit look-up.

        Parameters
        ----------
        n_sample
            Number of stored codes, drawn with a fixed seed, that are searched within the radii 0 to 3; default 256.
        """
        check_integer("n_sample", n_sample)
        codes = self.get(self.ids)
        sample = codes[np.random.default_rng(0).integers(0, len(codes), n_sample)] if len(codes) else codes
        distances = self.search_radius(sample, RADII[-1]).distances
        hits = tuple(float((distances <= r).sum()) / max(len(sample), 1) - bool(len(codes)) for r in RADII)
        return occupancy(self.layout, codes, hits)

    # -- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the index to one file, atomically: the file is complete and durable once the call returns."""
        header, arrays = self._store.state()
        _files.write_file(path, arrays, {"index": self.kind, **header}, kind="index")

    def export_file(self, path: str | Path, *, words: bool = False) -> int:
        """The number of codes that were written to a .parquet file, ordered by id, for other programs.

        A collection with the same hasher can import the file.

        Parameters
        ----------
        path
            The file; its name must end with ``.parquet``.
        words
            Whether to add the columns ``w0``, ``w1``, … of 64-bit integers, by which SQL engines compare codes (see
            [`CodeLayout.words`][rankhash.CodeLayout.words]); default False.
        """
        if Path(path).suffix.lower() != ".parquet":
            raise InvalidInputError(f"{path} must end with .parquet to export to it")
        ids = self.ids
        with _files.written_whole(path) as temporary, CodesWriter(temporary, self.layout, words=words) as writer:
            for start in range(0, len(ids), GROUP_ROWS):
                some = ids[start : start + GROUP_ROWS]
                writer.write(some, self.get(some))
        return len(ids)

    @classmethod
    def load(cls, path: str | Path, *, mmap: bool = False, verify: bool = True) -> Index:
        """The index in a file that `save` wrote.

        Parameters
        ----------
        path
            The file.
        mmap
            Whether the codes stay in the file, shared between processes, until the first change copies them into
            memory; default False.
        verify
            Whether to verify the checksums, which reads the whole file once; default True.
        """
        header, arrays = _files.read_file(path, "index", mmap=mmap, verify=verify)
        if header.pop("index", None) != cls.kind:
            raise FileFormatError(f"{path} does not hold a {cls.__name__}")
        index = cls.__new__(cls)
        index._store = cls._store_class.restore(header, arrays)
        if verify:
            check_codes(index.layout, index._store.blocks, index._store.size)
        return index

    # -- inside ----------------------------------------------------------------------------------------------------

    def _free_ids(self, ids: ArrayLike, n: int) -> I64:
        numbers = check_ids(ids, n)
        taken = self._store.find_living(numbers) >= 0
        if taken.any():
            raise TakenIdError(f"id {numbers[taken][0]} is already in the index; upsert replaces codes")
        return numbers

    def _positions(self, ids: I64) -> I64:
        positions = self._store.find_living(ids)
        missing = positions < 0
        if missing.any():
            raise UnknownIdError(f"id {ids[missing][0]} is not in the index")
        return positions

    def _view(self, filter: ArrayLike | None) -> _kernels.CodesView:
        return self._store.view(mask(self._store, filter))

"""The contract of an index: codes in, neighbours out, the same answer from every kind.

An index knows a layout, never a hasher. Its searches are exact, ordered by (distance, id), and do not depend on the
number of threads, the instruction set, or which queries come together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _files, _kernels
from .._parquet import GROUP_ROWS, CodesWriter
from ..codes import CodeLayout
from ..errors import FileFormatError, IdError, InvalidInputError, LayoutMismatchError
from ..neighbors import Neighbors, RadiusNeighbors
from ._occupancy import RADII, Occupancy, occupancy
from ._store import CodeStore

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
F32 = NDArray[np.float32]

_LARGEST_ID = np.iinfo(np.int64).max - 1


class Index(ABC):
    """Codes with ids: what all kinds of index share."""

    kind: ClassVar[str]
    _store_class: ClassVar[type[CodeStore]] = CodeStore

    def __init__(self, layout: CodeLayout) -> None:
        if not isinstance(layout, CodeLayout):
            raise InvalidInputError(f"layout must be a CodeLayout (a hasher's layout_), got {layout!r}")
        self._store = self._store_class(layout)

    def __len__(self) -> int:
        """How many codes can be found."""
        return len(self._store)

    def __repr__(self) -> str:
        layout = self.layout
        return f"{type(self).__name__}({len(self)} codes of {layout.n_symbols} symbols of arity {layout.arity})"

    @property
    def layout(self) -> CodeLayout:
        """The shape of the codes."""
        return self._store.layout

    @property
    def ids(self) -> I64:
        """The ids of all codes, ascending."""
        return self._store.ids_at(self._store.positions_by_id())

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the index holds."""
        return self._store.nbytes

    # -- codes in and out ------------------------------------------------------------------------------------------

    def add(self, codes: ArrayLike, ids: ArrayLike | None = None) -> I64:
        """Add codes ``(n, n_bytes)`` and return their ids.

        Without ``ids`` the codes get the numbers after the largest id so far, from 0 on. Given ids are non-negative
        64-bit integers that are not in the index.
        """
        checked = self.layout.check(codes)
        numbers = self._new_ids(len(checked)) if ids is None else self._free_ids(ids, len(checked))
        self._store.add(checked, numbers)
        return numbers

    def upsert(self, codes: ArrayLike, ids: ArrayLike) -> None:
        """Replace the codes of ids that are in the index and add the others."""
        checked = self.layout.check(codes)
        numbers = self._check_ids(ids, len(checked))
        positions = self._store.find_living(numbers)
        known = positions >= 0
        self._store.write(positions[known], checked[known])
        self._store.add(checked[~known], numbers[~known])

    def remove(self, ids: ArrayLike) -> None:
        """Remove codes by their ids; an id that is not in the index is an error, and then nothing is removed."""
        self._store.remove(self._positions(self._check_ids(ids, None)))

    def get(self, ids: ArrayLike) -> U8:
        """The codes ``(n, n_bytes)`` of the given ids."""
        return self._store.codes_at(self._positions(self._check_ids(ids, None, unique=False)))

    def compact(self) -> None:
        """Give back the room of removed codes at once; it is also done when a quarter of the index is dead."""
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
        """The k nearest codes of each query code."""

    @abstractmethod
    def search_tables(
        self, tables: ArrayLike, k: int, *, filter: ArrayLike | None = None, n_threads: int | None = None
    ) -> Neighbors:
        """The k codes with the smallest sums of table entries."""

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
        """All codes within ``radius`` of each query code."""

    def occupancy(self, *, n_sample: int = 256) -> Occupancy:
        """How the codes spread over buckets of equal codes: tells whether a hasher's codes suit look-up.

        ``n_sample`` codes, drawn with a fixed seed, are searched within the radii 0 to 3.
        """
        if isinstance(n_sample, bool) or not isinstance(n_sample, (int, np.integer)) or n_sample < 1:
            raise InvalidInputError(f"n_sample must be a positive integer, got {n_sample!r}")
        codes = self.get(self.ids)
        sample = codes[np.random.default_rng(0).integers(0, len(codes), n_sample)] if len(codes) else codes
        distances = self.search_radius(sample, RADII[-1]).distances
        hits = tuple(float((distances <= r).sum()) / max(len(sample), 1) - bool(len(codes)) for r in RADII)
        return occupancy(self.layout, codes, hits)

    # -- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the index to one file, all of it or nothing: see :doc:`the file format </explain/files>`."""
        header, arrays = self._store.state()
        _files.write_file(path, arrays, {"index": self.kind, **header}, kind="index")

    def export_file(self, path: str | Path, *, words: bool = False) -> int:
        """Write ids, ascending, and codes to a .parquet file for other programs, and return how many.

        ``words`` adds the columns ``w0``, ``w1``, … of numbers by which engines compare codes: see
        :meth:`CodeLayout.words`. A collection with the same hasher can import the file.
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
        """The index that :meth:`save` wrote.

        With ``mmap`` the codes stay in the file and are shared between processes; the first change copies them.
        ``verify`` compares the checksums, which reads the whole file once.
        """
        header, arrays = _files.read_file(path, "index", mmap=mmap, verify=verify)
        if header.pop("index", None) != cls.kind:
            raise FileFormatError(f"{path} does not hold a {cls.__name__}")
        index = cls.__new__(cls)
        index._store = cls._store_class.restore(header, arrays)
        return index

    # -- checks at the door ----------------------------------------------------------------------------------------

    def _new_ids(self, n: int) -> I64:
        first = self._store.next_id
        if first > _LARGEST_ID - n:
            raise IdError(f"there is no room for {n} ids after {first - 1}; give ids explicitly")
        return np.arange(first, first + n, dtype=np.int64)

    def _free_ids(self, ids: ArrayLike, n: int) -> I64:
        numbers = self._check_ids(ids, n)
        taken = self._store.find_living(numbers) >= 0
        if taken.any():
            raise IdError(f"id {numbers[taken][0]} is already in the index; upsert replaces codes")
        return numbers

    def _check_ids(self, ids: ArrayLike, n: int | None, *, unique: bool = True) -> I64:
        numbers = np.asarray(ids)
        if numbers.size == 0:
            numbers = numbers.astype(np.int64)
        if numbers.ndim != 1 or (n is not None and len(numbers) != n):
            wanted = "one-dimensional" if n is None else f"one for each of {n} codes"
            raise IdError(f"ids must be {wanted}, got the shape {numbers.shape}")
        if numbers.dtype.kind not in "iu":
            raise IdError(f"ids must be integers, got {numbers.dtype}")
        if numbers.size and (numbers.min() < 0 or numbers.max() > _LARGEST_ID):
            raise IdError(f"ids must lie between 0 and {_LARGEST_ID}, got {numbers.min()} to {numbers.max()}")
        numbers = numbers.astype(np.int64)
        if unique:
            ordered = np.sort(numbers)
            repeated = ordered[1:][ordered[1:] == ordered[:-1]]
            if len(repeated):
                raise IdError(f"id {repeated[0]} is given more than once")
        return numbers

    def _positions(self, ids: I64) -> I64:
        positions = self._store.find_living(ids)
        missing = positions < 0
        if missing.any():
            raise IdError(f"id {ids[missing][0]} is not in the index")
        return positions

    def _check_k(self, k: int, n_queries: int) -> int:
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise InvalidInputError(f"k must be a positive integer, got {k!r}")
        if n_queries * int(k) > 2**40:
            raise InvalidInputError(f"{n_queries} queries with k={k} ask for more results than fit in memory")
        return int(k)

    def _check_tables(self, tables: ArrayLike) -> F32:
        layout = self.layout
        checked = np.ascontiguousarray(tables, dtype=np.float32)
        if checked.ndim != 3 or checked.shape[1:] != (layout.n_symbols, layout.arity):
            raise LayoutMismatchError(
                f"tables must have the shape (n, {layout.n_symbols}, {layout.arity}), got {checked.shape}"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            largest = np.abs(checked).max(axis=2).sum(axis=1)
        if not np.isfinite(largest).all():
            raise InvalidInputError("tables must be finite, and so must their sums")
        return checked

    def _weight_tables(self, codes: U8, weights: ArrayLike) -> F32:
        layout = self.layout
        values = np.asarray(weights, dtype=np.float32)
        if values.shape != (layout.n_symbols,):
            raise LayoutMismatchError(
                f"weights must be one for each of {layout.n_symbols} symbols, got the shape {values.shape}"
            )
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise InvalidInputError("weights must be finite and not negative")
        differs = layout.unpack(codes)[:, :, None] != np.arange(layout.arity, dtype=np.uint8)
        return self._check_tables(differs * values[:, None])

    def _view(self, filter: ArrayLike | None) -> _kernels.CodesView:
        return self._store.view(self._store.mask(filter))

"""Indexes over codes: one contract, one file a kind."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from .. import _files
from ..errors import FileFormatError
from ._base import Index
from ._occupancy import Occupancy
from .flat import FlatIndex
from .tables import Explanation, LookupStatistics, TableIndex

INDEXES: dict[str, type[Index]] = {cls.kind: cls for cls in (FlatIndex, TableIndex)}


def open_index(path: str | PathLike[str], *, mmap: bool = False, verify: bool = True) -> Index:
    """The index of a file, whatever its kind; parameters as in :meth:`FlatIndex.load`."""
    header, _ = _files.read_file(path, "index", mmap=True, verify=False)
    kind = header.get("index")
    if kind not in INDEXES:
        raise FileFormatError(f"{path} holds an index of the unknown kind {str(kind)[:40]!r}; upgrade rankhash")
    return INDEXES[kind].load(Path(path), mmap=mmap, verify=verify)


__all__ = ["Explanation", "FlatIndex", "Index", "LookupStatistics", "Occupancy", "TableIndex", "open_index"]

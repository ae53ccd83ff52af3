"""Opening the file of an index of any kind."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from . import _files
from .errors import FileFormatError
from .index import FlatIndex, Index, LookupIndex
from .vector_index import VectorIndex

INDEXES: dict[str, type[Index] | type[VectorIndex]] = {cls.kind: cls for cls in (FlatIndex, LookupIndex, VectorIndex)}


def open_index(path: str | PathLike[str], *, mmap: bool = False, verify: bool = True) -> Index | VectorIndex:
    """The index of a file: a `FlatIndex`, `LookupIndex` or `VectorIndex`, whichever was saved.

    With ``mmap`` (default False) codes and vectors stay in the file; ``verify`` (default True) compares the checksums.
    """
    header, _ = _files.read_file(path, "index", mmap=True, verify=False)
    kind = header.get("index")
    if kind not in INDEXES:
        raise FileFormatError(f"{path} holds an index of the unknown kind {str(kind)[:40]!r}; upgrade rankhash")
    return INDEXES[kind].load(Path(path), mmap=mmap, verify=verify)

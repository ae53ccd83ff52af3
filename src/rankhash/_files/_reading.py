"""Reading: the header and the tensors of a file, copied or memory-mapped, with checksums verified."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from io import BufferedReader, BytesIO
from typing import Any

import numpy as np

from .._types import Array
from ..errors import FileFormatError
from ._format import DTYPES, PathLike, Tensors, bytes_of, sha256_of
from ._head import Entry, check_contents, read_head


def read_file(path: PathLike, kind: str, *, mmap: bool = False, verify: bool = True) -> tuple[dict[str, Any], Tensors]:
    """The header and the tensors of a file that `write_file` wrote.

    Parameters
    ----------
    path
        The file.
    kind
        The expected kind: ``"hasher"`` or ``"index"``.
    mmap
        Whether the tensors are read-only memory maps of the file instead of copies; default False. The file must not
        be truncated while it is mapped; `write_file` never truncates a file.
    verify
        Whether the checksums of the tensors are verified, which reads all of them; default True. The checksum of the
        header is always verified.

    Raises
    ------
    FileFormatError
        If the file is damaged, truncated, no rankhash file, of another kind or of a newer format.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileFormatError("is not a file")
        with open(path, "rb") as file:
            return _read(file, os.fstat(file.fileno()).st_size, kind, _map if mmap else _copy, verify)
    except FileFormatError as error:
        raise FileFormatError(f"{os.fspath(path)} {error}") from None


def from_bytes(data: bytes, kind: str) -> tuple[dict[str, Any], Tensors]:
    """The header and the tensors in the bytes that `to_bytes` made, with the checks of `read_file`."""
    return _read(BytesIO(data), len(data), kind, _copy, verify=True)


def _read(
    file: Any, n_bytes: int, kind: str, tensor: Callable[[Any, int, Entry], Array], verify: bool
) -> tuple[dict[str, Any], Tensors]:
    contents, entries, start = read_head(file, n_bytes)
    check_contents(contents, entries, kind)
    tensors = {entry.name: tensor(file, start, entry) for entry in entries}
    if verify:
        _check_tensors(tensors, contents["sha256"])
    return contents["header"], tensors


def _copy(file: BufferedReader | BytesIO, start: int, entry: Entry) -> Array:
    tensor: Array = np.empty(entry.shape, DTYPES[entry.dtype])
    file.seek(start + entry.begin)
    if file.readinto(bytes_of(tensor).data) != tensor.nbytes:
        raise FileFormatError("is cut off")
    return tensor


def _map(file: BufferedReader, start: int, entry: Entry) -> Array:
    dtype = DTYPES[entry.dtype]
    if entry.begin == entry.end:
        tensor: Array = np.empty(entry.shape, dtype)
        tensor.flags.writeable = False
        return tensor
    return np.memmap(file, dtype, mode="r", offset=start + entry.begin, shape=entry.shape)


def _check_tensors(tensors: Tensors, checksums: dict[str, str]) -> None:
    for name, tensor in tensors.items():
        if checksums[name] != sha256_of(tensor):
            raise FileFormatError(f"is damaged: the checksum of {name!r} does not match")

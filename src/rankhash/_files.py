"""The file format of hashers and indexes: safetensors with a JSON header and checksums, no pickle.

::

    8 bytes   length of the JSON that follows, little endian
    JSON      {"__metadata__": {"rankhash": the contents below, as a string},
               tensor: {"dtype": "F32", "shape": [n, d], "data_offsets": [begin, end]}, …}
    bytes     the tensors, little endian, in C order, without gaps

    contents  {"version": 1, "kind": "hasher" | "index", "header": {…}, "sha256": {tensor: checksum, …},
               "digest": checksum of the other contents and of the tensors' names, dtypes and shapes}

A reader checks every size against the length of the file before it takes memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save, save_file

from .errors import FileFormatError, InvalidInputError, StorageError

KEY = "rankhash"
VERSION = 1
MAX_HEADER_BYTES = 4 << 20
MAX_TENSOR_BYTES = 1 << 62
DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(f"<{name[0].lower()}{int(name[1:]) // 8}")
    for name in ("U8", "U16", "U32", "U64", "I8", "I16", "I32", "I64", "F16", "F32", "F64")
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}

PathLike = str | os.PathLike[str]
Tensors = dict[str, NDArray[Any]]


def write_file(path: PathLike, tensors: Tensors, header: dict[str, Any], kind: str) -> None:
    """Write a file that afterwards is complete and on the disk, or else is not there at all.

    It is written beside its place, flushed and then renamed: a file that was there before stays until the
    new one is whole, also for those who have it open, and on any failure nothing is left behind.
    """
    target = Path(os.path.realpath(path))
    arrays = {name: _storable(name, array) for name, array in tensors.items()}
    contents = _contents(arrays, header, kind)
    temporary = target.parent / f".rankhash-{secrets.token_hex(8)}.tmp"
    try:
        mode = _create(temporary, like=target)
        save_file(arrays, temporary, metadata={KEY: _json(contents)})
        _finish(temporary, mode)
        os.replace(temporary, target)
    except SafetensorError as error:
        raise OSError(f"cannot write {target}: {error}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
    sync_folder(target.parent)


@contextlib.contextmanager
def written_whole(path: PathLike) -> Iterator[Path]:
    """A new file beside ``path`` to write to, which takes its place when the block ends well, or else is removed."""
    target = Path(os.path.abspath(path))
    temporary = target.parent / f".rankhash-{secrets.token_hex(8)}.tmp"
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def to_bytes(tensors: Tensors, header: dict[str, Any], kind: str) -> bytes:
    """What :func:`write_file` would write, for keeping inside another file."""
    arrays = {name: _storable(name, array) for name, array in tensors.items()}
    data: bytes = save(arrays, metadata={KEY: _json(_contents(arrays, header, kind))})
    return data


def _create(path: Path, *, like: Path) -> int:
    """Make an empty file and return the permissions that it is to have: those of ``like``, or the usual."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        return stat.S_IMODE((like.stat() if like.exists() else os.fstat(descriptor)).st_mode)
    finally:
        os.close(descriptor)


def _storable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    little = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    if little.dtype not in DTYPE_NAMES:
        raise InvalidInputError(f"{name!r} must hold integers or floats to be saved, got {array.dtype}")
    return little


def _contents(arrays: Tensors, header: dict[str, Any], kind: str) -> dict[str, Any]:
    contents = {
        "version": VERSION,
        "kind": kind,
        "header": json.loads(_json(header)),
        "sha256": {name: _sha256(array) for name, array in arrays.items()},
    }
    described = {name: (DTYPE_NAMES[array.dtype], array.shape) for name, array in arrays.items()}
    return contents | {"digest": _digest(contents, described)}


def _finish(path: Path, mode: int) -> None:
    """Flush a written file to the disk, unless no reader would take it."""
    with open(path, "rb+") as file:
        if int.from_bytes(file.read(8), "little") > MAX_HEADER_BYTES:
            raise InvalidInputError(f"names and parameters of more than {MAX_HEADER_BYTES} bytes cannot be saved")
        os.chmod(path, mode)
        os.fsync(file.fileno())


def sync_folder(directory: Path) -> None:
    """Flush a directory's names to the disk, where the system can do that."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _sha256(array: NDArray[Any]) -> str:
    return hashlib.sha256(_bytes_of(array).data).hexdigest()


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The memory of a C-contiguous array, as bytes."""
    return array.reshape(-1).view(np.uint8)


def _digest(contents: dict[str, Any], described: dict[str, tuple[str, tuple[int, ...]]]) -> str:
    return hashlib.sha256(_json([contents, described]).encode()).hexdigest()


def read_file(path: PathLike, kind: str, *, mmap: bool = False, verify: bool = True) -> tuple[dict[str, Any], Tensors]:
    """The header and the tensors of a file that :func:`write_file` wrote.

    Parameters
    ----------
    path, kind
        The file, and what it must hold: ``"hasher"`` or ``"index"``.
    mmap
        Whether the tensors are read-only views of the file instead of copies in memory. Nobody may shorten
        the file meanwhile; :func:`write_file` never does.
    verify
        Whether the checksums of the tensors are compared, which reads all of them. The header's always is.

    Raises
    ------
    FileFormatError
        If the file is damaged, cut off, foreign, of another kind or of a newer format.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileFormatError("is not a file")
        with open(path, "rb") as file:
            return _read(file, os.fstat(file.fileno()).st_size, kind, _map if mmap else _copy, verify)
    except FileFormatError as error:
        raise FileFormatError(f"{os.fspath(path)} {error}") from None


def from_bytes(data: bytes, kind: str) -> tuple[dict[str, Any], Tensors]:
    """The header and the tensors of what :func:`to_bytes` made; checked as :func:`read_file` does."""
    return _read(BytesIO(data), len(data), kind, _copy, verify=True)


def _read(
    file: Any, n_bytes: int, kind: str, tensor: Callable[[Any, int, _Entry], NDArray[Any]], verify: bool
) -> tuple[dict[str, Any], Tensors]:
    contents, entries, start = _read_head(file, n_bytes)
    _check_contents(contents, entries, kind)
    tensors = {entry.name: tensor(file, start, entry) for entry in entries}
    if verify:
        _check_tensors(tensors, contents["sha256"])
    return contents["header"], tensors


@dataclass(frozen=True)
class _Entry:
    """One tensor of a file: what it is, and which bytes of the data part it takes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def _read_head(file: BinaryIO, n_bytes: int) -> tuple[dict[str, Any], list[_Entry], int]:
    """The contents, the tensors' places and where the data start, checked against the length of the file."""
    length = int.from_bytes(file.read(8), "little")
    if n_bytes < 10 or length > min(n_bytes - 8, MAX_HEADER_BYTES) or (8 + length) % 8:
        raise FileFormatError("is not a rankhash file, or is cut off")
    head = _parse(file.read(length))
    metadata = head.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise FileFormatError("is not a rankhash file")
    contents = _parse(metadata[KEY])
    entries = [_entry(name, fields) for name, fields in head.items()]
    _check_places(entries, n_bytes - 8 - length)
    return contents, entries, 8 + length


def _parse(text: bytes | str) -> dict[str, Any]:
    try:
        value = json.loads(text.decode() if isinstance(text, bytes) else text)
    except (ValueError, RecursionError):
        raise FileFormatError("is not a rankhash file: its header cannot be read") from None
    if not isinstance(value, dict):
        raise FileFormatError("is not a rankhash file")
    return value


def _entry(name: str, fields: Any) -> _Entry:
    broken = FileFormatError(f"is damaged: its header does not describe the tensor {name[:100]!r}")
    if not isinstance(fields, dict) or fields.keys() != {"dtype", "shape", "data_offsets"}:
        raise broken
    dtype, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    if not (isinstance(dtype, str) and dtype in DTYPES and _are_sizes(shape) and _are_sizes(offsets)):
        raise broken
    item = DTYPES[dtype].itemsize
    if len(shape) > 32 or math.prod(max(size, 1) for size in shape) * item > MAX_TENSOR_BYTES:
        raise broken
    if len(offsets) != 2 or offsets[1] - offsets[0] != math.prod(shape) * item or offsets[0] % item:
        raise broken
    return _Entry(name, dtype, tuple(shape), offsets[0], offsets[1])


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(v) is int and 0 <= v <= MAX_TENSOR_BYTES for v in values)


def _check_places(entries: list[_Entry], n_bytes: int) -> None:
    """Make sure that the tensors fill the data part without gaps, overlaps or anything left over."""
    position = 0
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != position:
            raise FileFormatError("is damaged: its tensors overlap or leave gaps")
        position = entry.end
    if position != n_bytes:
        raise FileFormatError(f"is damaged or cut off: {position} bytes of data belong there, not {n_bytes}")


def _check_contents(contents: dict[str, Any], entries: list[_Entry], kind: str) -> None:
    """Make sure that version, checksum and kind are right; after that the contents can be trusted."""
    version = contents.get("version")
    if type(version) is not int or version != VERSION:
        raise FileFormatError(
            f"has format version {str(version)[:20]}, but this rankhash reads version {VERSION}; upgrade it"
        )
    digest = contents.pop("digest", None)
    if not _is_complete(contents, entries) or not digest or digest != _digest_read(contents, entries):
        raise FileFormatError("is damaged: the checksum of its header does not match")
    if contents["kind"] != kind:
        raise FileFormatError(f"holds a rankhash {contents['kind']}, and a rankhash {kind} was expected")


def _is_complete(contents: dict[str, Any], entries: list[_Entry]) -> bool:
    return (
        contents.keys() == {"version", "kind", "header", "sha256"}
        and isinstance(contents["kind"], str)
        and isinstance(contents["header"], dict)
        and isinstance(contents["sha256"], dict)
        and contents["sha256"].keys() == {entry.name for entry in entries}
    )


def _digest_read(contents: dict[str, Any], entries: list[_Entry]) -> str:
    """The digest that the file must have; empty if its JSON holds what we never write, such as NaN."""
    try:
        return _digest(contents, {entry.name: (entry.dtype, entry.shape) for entry in entries})
    except (ValueError, RecursionError):
        return ""


def _copy(file: BufferedReader | BytesIO, start: int, entry: _Entry) -> NDArray[Any]:
    tensor: NDArray[Any] = np.empty(entry.shape, DTYPES[entry.dtype])
    file.seek(start + entry.begin)
    if file.readinto(_bytes_of(tensor).data) != tensor.nbytes:
        raise FileFormatError("is cut off")
    return tensor


def _map(file: BufferedReader, start: int, entry: _Entry) -> NDArray[Any]:
    dtype = DTYPES[entry.dtype]
    if entry.begin == entry.end:
        tensor: NDArray[Any] = np.empty(entry.shape, dtype)
        tensor.flags.writeable = False
        return tensor
    return np.memmap(file, dtype, mode="r", offset=start + entry.begin, shape=entry.shape)


def _check_tensors(tensors: Tensors, checksums: dict[str, str]) -> None:
    for name, tensor in tensors.items():
        if checksums[name] != _sha256(tensor):
            raise FileFormatError(f"is damaged: the checksum of {name!r} does not match")

"""Writing: files that are complete and durable, or do not appear at all."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save, save_file

from .._types import Array
from ..errors import InvalidInputError, StorageError
from ._format import DTYPE_NAMES, KEY, MAX_HEADER_BYTES, VERSION, PathLike, Tensors, digest_of, sha256_of, to_json


def write_file(path: PathLike, tensors: Tensors, header: dict[str, Any], kind: str) -> None:
    """Write a file atomically: it is complete and durable once the call returns.

    The data go to a temporary file in the same folder, which is flushed and then renamed. An existing file stays in
    place until the new one is complete, and readers that have it open keep the old contents. On any failure the
    temporary file is removed.
    """
    target = Path(os.path.realpath(path))
    arrays = {name: _storable(name, array) for name, array in tensors.items()}
    contents = _contents(arrays, header, kind)
    temporary = target.parent / f".rankhash-{secrets.token_hex(8)}.tmp"
    with _storage_errors(path, temporary):
        mode = _create(temporary, like=target)
        save_file(arrays, temporary, metadata={KEY: to_json(contents)})
        _finish(temporary, mode)
        os.replace(temporary, target)
        sync_folder(target.parent)


@contextlib.contextmanager
def written_whole(path: PathLike) -> Iterator[Path]:
    """A temporary path to write to; flushed to disk and renamed to ``path`` when the block ends without error."""
    target = Path(os.path.abspath(path))
    temporary = target.parent / f".rankhash-{secrets.token_hex(8)}.tmp"
    with _storage_errors(path, temporary):
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
        sync_folder(target.parent)


@contextlib.contextmanager
def _storage_errors(path: PathLike, temporary: Path) -> Iterator[None]:
    """Turn operating-system errors into StorageError, and remove the temporary file in any case."""
    try:
        yield
    except StorageError:
        raise
    except (OSError, SafetensorError) as error:
        raise StorageError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def to_bytes(tensors: Tensors, header: dict[str, Any], kind: str) -> bytes:
    """The bytes that `write_file` would write, for storage inside another file."""
    arrays = {name: _storable(name, array) for name, array in tensors.items()}
    data: bytes = save(arrays, metadata={KEY: to_json(_contents(arrays, header, kind))})
    return data


def _create(path: Path, *, like: Path) -> int:
    """Create an empty file and return its final permissions: those of ``like`` if that exists, else the default."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        return stat.S_IMODE((like.stat() if like.exists() else os.fstat(descriptor)).st_mode)
    finally:
        os.close(descriptor)


def _storable(name: str, array: Array) -> Array:
    little = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    if little.dtype not in DTYPE_NAMES:
        raise InvalidInputError(f"{name!r} must hold integers or floats to be saved, got {array.dtype}")
    return little


def _contents(arrays: Tensors, header: dict[str, Any], kind: str) -> dict[str, Any]:
    contents = {
        "version": VERSION,
        "kind": kind,
        "header": json.loads(to_json(header)),
        "sha256": {name: sha256_of(array) for name, array in arrays.items()},
    }
    described = {name: (DTYPE_NAMES[array.dtype], array.shape) for name, array in arrays.items()}
    return contents | {"digest": digest_of(contents, described)}


def _finish(path: Path, mode: int) -> None:
    """Flush a written file to disk, after checking that its header is small enough for readers."""
    with open(path, "rb+") as file:
        if int.from_bytes(file.read(8), "little") > MAX_HEADER_BYTES:
            raise InvalidInputError(f"names and parameters of more than {MAX_HEADER_BYTES} bytes cannot be saved")
        os.chmod(path, mode)
        os.fsync(file.fileno())


def sync_folder(directory: Path) -> None:
    """Flush the entries of a directory to disk, where the operating system supports it."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

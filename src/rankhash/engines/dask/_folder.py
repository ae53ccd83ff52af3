"""A saved DaskIndex: a folder of shards and a manifest, written so that there is always one whole version.

::

    manifest.safetensors            kind "shards": layout, version, has_ids; sizes (n,), heads (n, 32)
    <version>-00000.safetensors     a FlatIndex each, in the order of the manifest

``heads`` are the SHA-256 of each shard's header, which holds the checksums of its arrays: a shard that was damaged or
exchanged is noticed. The manifest is replaced last, and then the shards of older versions are removed.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _files
from ...codes import CodeLayout
from ...errors import FileFormatError, LayoutMismatchError
from ...index import FlatIndex

MANIFEST = "manifest.safetensors"
KIND = "shards"
VERSION = re.compile(r"[0-9a-f]{16}")
SHARD = re.compile(r"[0-9a-f]{16}-\d{5,}\.safetensors")


@dataclass(frozen=True)
class Manifest:
    """What a folder holds."""

    layout: CodeLayout
    version: str
    has_ids: bool
    sizes: NDArray[np.int64]
    heads: NDArray[np.uint8]

    def names(self) -> list[str]:
        """The shards' file names, in order."""
        return [shard_name(self.version, i) for i in range(len(self.sizes))]


def shard_name(version: str, i: int) -> str:
    """The file name of shard ``i``."""
    return f"{version}-{i:05d}.safetensors"


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Make the shards of this manifest the folder's contents, and remove those of earlier ones."""
    layout = manifest.layout
    header = {
        "layout": {"n_symbols": layout.n_symbols, "arity": layout.arity, "fingerprint": layout.fingerprint},
        "version": manifest.version,
        "has_ids": manifest.has_ids,
    }
    _files.write_file(folder / MANIFEST, {"sizes": manifest.sizes, "heads": manifest.heads}, header, KIND)
    remove_shards(folder, keep=manifest.version)


def remove_shards(folder: Path, *, keep: str = "", only: str = "") -> None:
    """Remove shards of other versions than ``keep``, or those of the version ``only``."""
    for path in folder.iterdir():
        version = path.name[:16]
        if SHARD.fullmatch(path.name) and version != keep and (not only or version == only):
            path.unlink(missing_ok=True)


def read_manifest(folder: Path) -> Manifest:
    """The folder's manifest, after making sure that its parts fit together."""
    path = folder / MANIFEST
    if not path.exists():
        raise FileNotFoundError(f"{folder} does not hold a saved DaskIndex: there is no {MANIFEST}")
    header, arrays = _files.read_file(path, KIND)
    try:
        manifest = Manifest(
            CodeLayout(**header["layout"]), header["version"], header["has_ids"], arrays["sizes"], arrays["heads"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} contradicts itself: {error}") from error
    if not _fits(manifest):
        raise FileFormatError(f"{path} contradicts itself")
    return manifest


def _fits(manifest: Manifest) -> bool:
    sizes, heads, version = manifest.sizes, manifest.heads, manifest.version
    return (
        isinstance(version, str)
        and VERSION.fullmatch(version) is not None
        and isinstance(manifest.has_ids, bool)
        and sizes.dtype == np.int64
        and sizes.ndim == 1
        and bool((sizes >= 0).all())
        and heads.dtype == np.uint8
        and heads.shape == (len(sizes), 32)
    )


def save_shard(shard: FlatIndex, path: str) -> bytes:
    """Write a shard, on the worker that has it, and return the checksum of its header."""
    shard.save(Path(path))
    return head_of(path)


def load_shard(path: str, layout: CodeLayout, size: int, head: bytes, *, mmap: bool, verify: bool) -> FlatIndex:
    """The shard of a file, after making sure that it is the one that the manifest means."""
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{path} cannot be seen by a worker; the folder must be on a disk that all workers share"
        )
    shard = FlatIndex.load(path, mmap=mmap, verify=verify)
    assert isinstance(shard, FlatIndex)
    if shard.layout != layout:
        raise LayoutMismatchError(
            f"{path} holds {_shape(shard.layout)}, but the manifest says {_shape(layout)}; it belongs elsewhere"
        )
    if len(shard) != size or head_of(path) != head:
        raise FileFormatError(f"{path} is not the shard that the manifest means; restore it, or save the index again")
    return shard


def head_of(path: str) -> bytes:
    """The SHA-256 of a safetensors file's header."""
    with open(path, "rb") as file:
        length = file.read(8)
        n_bytes = int.from_bytes(length, "little")
        if n_bytes > _files.MAX_HEADER_BYTES:
            raise FileFormatError(f"{path} is not a rankhash file, or is damaged")
        return hashlib.sha256(length + file.read(n_bytes)).digest()


def _shape(layout: CodeLayout) -> str:
    return f"{layout.n_symbols} symbols of arity {layout.arity} of the hasher {layout.fingerprint or 'unknown'}"


def as_folder(path: Any) -> Path:
    """The folder as an absolute path, which means the same to every worker."""
    return Path(os.path.abspath(os.fspath(path)))

"""A saved distributed index: a folder of shards and a manifest, which always holds one complete version.

::

    manifest.safetensors            kind "shards": layout or vectors, version, has_ids; sizes (n,), heads (n, 32)
    <version>-00000.safetensors     a FlatIndex or VectorIndex each, in the order of the manifest

``heads`` are the SHA-256 digests of the shards' headers. A header holds the checksums of its arrays, so a damaged or
replaced shard is detected. The manifest is replaced last; then the shards of older versions are removed.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import _files
from ..._checks import check_choice, check_integer
from ...codes import CodeLayout
from ...errors import FileFormatError, LayoutMismatchError
from ...index import FlatIndex
from ...vector_index import VectorIndex

MANIFEST = "manifest.safetensors"
KIND = "shards"
VERSION = re.compile(r"[0-9a-f]{16}")
SHARD = re.compile(r"[0-9a-f]{16}-\d{5,}\.safetensors")


@dataclass(frozen=True)
class VectorShape:
    """The metric and dimension of the vectors of all shards."""

    metric: str
    n_features: int

    def __post_init__(self) -> None:
        check_choice("metric", self.metric, ("cosine", "euclidean", "dot"))
        check_integer("n_features", self.n_features)


Shape: TypeAlias = "CodeLayout | VectorShape"
Shard: TypeAlias = "FlatIndex | VectorIndex"


def shape_of(shard: Shard) -> Shape:
    """The layout of codes, or the metric and dimension of vectors."""
    return shard.layout if isinstance(shard, FlatIndex) else VectorShape(shard.metric, shard.n_features or 0)


@dataclass(frozen=True)
class Manifest:
    """The contents of a folder: the shape of codes or vectors, and the size and header digest of each shard."""

    shape: Shape
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
    """Replace the folder's manifest, and remove the shards of other versions."""
    shape = manifest.shape
    facts: dict[str, Any]
    if isinstance(shape, CodeLayout):
        facts = {"layout": {name: getattr(shape, name) for name in ("n_symbols", "arity", "fingerprint")}}
    else:
        facts = {"vectors": asdict(shape)}
    header = {**facts, "version": manifest.version, "has_ids": manifest.has_ids}
    _files.write_file(folder / MANIFEST, {"sizes": manifest.sizes, "heads": manifest.heads}, header, KIND)
    remove_shards(folder, keep=manifest.version)


def remove_shards(folder: Path, *, keep: str = "", only: str = "") -> None:
    """Remove shards of other versions than ``keep``, or those of the version ``only``."""
    for path in folder.iterdir():
        version = path.name[:16]
        if SHARD.fullmatch(path.name) and version != keep and (not only or version == only):
            path.unlink(missing_ok=True)


def read_manifest(folder: Path) -> Manifest:
    """The folder's manifest, checked for consistency."""
    path = folder / MANIFEST
    if not path.exists():
        raise FileNotFoundError(f"{folder} does not hold a saved DaskIndex or DaskVectorIndex: there is no {MANIFEST}")
    header, arrays = _files.read_file(path, KIND)
    try:
        shape = VectorShape(**header["vectors"]) if "vectors" in header else CodeLayout(**header["layout"])
        manifest = Manifest(shape, header["version"], header["has_ids"], arrays["sizes"], arrays["heads"])
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} is inconsistent: {error}") from error
    if not _fits(manifest):
        raise FileFormatError(f"{path} is inconsistent")
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


def save_shard(shard: Shard, path: str) -> bytes:
    """Write a shard on the worker that holds it; return the digest of its header."""
    shard.save(Path(path))
    return head_of(path)


def load_shard(path: str, shape: Shape, size: int, head: bytes, *, mmap: bool, verify: bool) -> Shard:
    """The shard of a file, which must be the one that the manifest names."""
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{path} cannot be seen by a worker; the folder must be on a disk that all workers share"
        )
    kind: Any = FlatIndex if isinstance(shape, CodeLayout) else VectorIndex
    shard: Shard = kind.load(path, mmap=mmap, verify=verify)
    if shape_of(shard) != shape:
        raise LayoutMismatchError(
            f"{path} holds {_words(shape_of(shard))}, but the manifest says {_words(shape)}; it belongs elsewhere"
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


def _words(shape: Shape) -> str:
    if isinstance(shape, VectorShape):
        return f"vectors of {shape.n_features} dimensions with the metric {shape.metric}"
    return f"{shape.n_symbols} symbols of arity {shape.arity} of the hasher {shape.fingerprint or 'unknown'}"


def as_folder(path: Any) -> Path:
    """The folder as an absolute path, since workers have other working directories."""
    return Path(os.path.abspath(os.fspath(path)))

"""The methods that turn vectors into symbols, one a file, and :func:`load_hasher`."""

from __future__ import annotations

import os
from typing import Any

from .. import _files
from ..errors import FileFormatError
from ._base import Hasher
from .agh import AGH
from .bre import BRE
from .bssc import BSSC
from .itq import ITQ
from .jrsh import JRSH
from .klsh import KLSH
from .ksh import KSH
from .lsh import LSH
from .minhash import MinHash
from .mlh import MLH
from .rsh import RSH
from .sdh import SDH
from .spectral import SpectralHashing
from .splh import SPLH
from .srsh import SRSH
from .wta import WTA

__all__ = [
    "AGH",
    "BRE",
    "BSSC",
    "HASHERS",
    "ITQ",
    "JRSH",
    "KLSH",
    "KSH",
    "LSH",
    "MLH",
    "RSH",
    "SDH",
    "SPLH",
    "SRSH",
    "WTA",
    "Hasher",
    "MinHash",
    "SpectralHashing",
    "hasher_from_bytes",
    "hasher_to_bytes",
    "load_hasher",
]

HASHERS: dict[str, type[Hasher]] = {
    method.__name__: method
    for method in (
        LSH,
        WTA,
        RSH,
        SRSH,
        JRSH,
        MLH,
        ITQ,
        SpectralHashing,
        KSH,
        SDH,
        KLSH,
        AGH,
        BRE,
        SPLH,
        BSSC,
        MinHash,
    )
}
"""Every method by name: what :func:`load_hasher` opens and what the tests go through."""


def load_hasher(path: str | os.PathLike[str]) -> Hasher:
    """The fitted hasher that :meth:`Hasher.save` wrote: it makes the same codes.

    Raises
    ------
    FileFormatError
        If the file is damaged, foreign, of a newer format, or holds something else.

    Examples
    --------
    >>> import tempfile
    >>> hasher = LSH(16, random_state=0).fit([[0.0, 1.0], [1.0, 0.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hasher.save(f"{folder}/lsh.safetensors")
    ...     load_hasher(f"{folder}/lsh.safetensors")
    LSH(n_symbols=16, random_state=0)
    """
    return _restore(os.fspath(path), *_files.read_file(path, "hasher"))


def hasher_to_bytes(hasher: Hasher) -> bytes:
    """What :meth:`Hasher.save` writes, for keeping inside another file."""
    header, arrays = hasher._state()
    return _files.to_bytes(arrays, header, "hasher")


def hasher_from_bytes(data: bytes, owner: str) -> Hasher:
    """The hasher that :func:`hasher_to_bytes` wrote; ``owner`` is the file that keeps it, for error messages."""
    try:
        header, arrays = _files.from_bytes(data, "hasher")
    except FileFormatError as error:
        raise FileFormatError(f"the hasher of {owner} {error}") from None
    return _restore(owner, header, arrays)


def _restore(owner: str, header: dict[str, Any], arrays: _files.Tensors) -> Hasher:
    method = header.get("method")
    if not isinstance(method, str) or method not in HASHERS:
        raise FileFormatError(f"{owner} holds a hasher that this rankhash does not know: {method!r}")
    try:
        return HASHERS[method]._restore(header, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{owner} does not describe a usable {method}: {error}") from error

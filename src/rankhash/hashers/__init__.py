"""The methods that turn vectors into symbols, one a file, and :func:`load_hasher`."""

from __future__ import annotations

import os

from .. import _files
from ..errors import FileFormatError
from ._base import Hasher
from .itq import ITQ
from .jrsh import JRSH
from .klsh import KLSH
from .ksh import KSH
from .lsh import LSH
from .mlh import MLH
from .rsh import RSH
from .sdh import SDH
from .spectral import SpectralHashing
from .srsh import SRSH
from .wta import WTA

__all__ = [
    "HASHERS",
    "ITQ",
    "JRSH",
    "KLSH",
    "KSH",
    "LSH",
    "MLH",
    "RSH",
    "SDH",
    "SRSH",
    "WTA",
    "Hasher",
    "SpectralHashing",
    "load_hasher",
]

HASHERS: dict[str, type[Hasher]] = {
    method.__name__: method for method in (LSH, WTA, RSH, SRSH, JRSH, MLH, ITQ, SpectralHashing, KSH, SDH, KLSH)
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
    header, arrays = _files.read_file(path, "hasher")
    method = header.get("method")
    if not isinstance(method, str) or method not in HASHERS:
        raise FileFormatError(f"{os.fspath(path)} holds a hasher that this rankhash does not know: {method!r}")
    try:
        return HASHERS[method]._restore(header, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{os.fspath(path)} does not describe a usable {method}: {error}") from error

"""The methods that turn vectors into symbols, one file per method, and `load_hasher`.

Methods are imported when they are first asked for: scikit-learn alone takes most of a second.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .. import _files
from .._lazy import lazy_names as _lazy_names
from ..errors import FileFormatError
from ._methods import HASHERS, ONE_VIEW, SEVERAL_VIEWS, VIEW_HASHERS

if TYPE_CHECKING:
    from .agh import AGH
    from .base import Hasher
    from .bre import BRE
    from .bssc import BSSC
    from .ccaitq import CCAITQ
    from .cghash import CGHash
    from .cmfh import CMFH
    from .cro import CRO
    from .cross_jrsh import CrossJRSH
    from .dgh import DGH
    from .forgiving import ForgivingHash
    from .hdml import HDML
    from .itq import ITQ
    from .jrsh import JRSH
    from .jsd_boosting import JSDBoosting
    from .klsh import KLSH
    from .ksh import KSH
    from .lsh import LSH
    from .lsrh import LSRH
    from .minhash import MinHash
    from .mlh import MLH
    from .permutation_codes import PermutationCodes
    from .pstable_lsh import PStableLSH
    from .rank_quantizer import RankQuantizer
    from .rsh import RSH
    from .scm import SCM
    from .sdh import SDH
    from .semantic import SemanticHashing
    from .spectral import SpectralHashing
    from .splh import SPLH
    from .srsh import SRSH
    from .views import ViewHasher
    from .wta import WTA

__all__ = [
    "AGH",
    "BRE",
    "BSSC",
    "CCAITQ",
    "CMFH",
    "CRO",
    "DGH",
    "HASHERS",
    "HDML",
    "ITQ",
    "JRSH",
    "KLSH",
    "KSH",
    "LSH",
    "LSRH",
    "MLH",
    "RSH",
    "SCM",
    "SDH",
    "SPLH",
    "SRSH",
    "VIEW_HASHERS",
    "WTA",
    "CGHash",
    "CrossJRSH",
    "ForgivingHash",
    "Hasher",
    "JSDBoosting",
    "MinHash",
    "PStableLSH",
    "PermutationCodes",
    "RankQuantizer",
    "SemanticHashing",
    "SpectralHashing",
    "ViewHasher",
    "hasher_from_bytes",
    "hasher_to_bytes",
    "load_hasher",
]

__getattr__, __dir__ = _lazy_names(
    __name__, globals(), {**ONE_VIEW, **SEVERAL_VIEWS, "Hasher": "base", "ViewHasher": "views"}
)


def load_hasher(path: str | os.PathLike[str]) -> Hasher:
    """The fitted hasher that [`Hasher.save`][rankhash.Hasher.save] wrote; it gives the same codes.

    Raises
    ------
    FileFormatError
        If the file is damaged, of another program or a newer format, or holds something else.

    Examples
    --------
    >>> import tempfile
    >>> from rankhash import LSH
    >>> hasher = LSH(16, random_state=0).fit([[0.0, 1.0], [1.0, 0.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hasher.save(f"{folder}/lsh.safetensors")
    ...     load_hasher(f"{folder}/lsh.safetensors")
    LSH(n_symbols=16, random_state=0)
    """
    return _opened(os.fspath(path), *_files.read_file(path, "hasher"))


def hasher_to_bytes(hasher: Hasher) -> bytes:
    """The contents of the file that ``Hasher.save`` writes, for storage inside another file."""
    from ._saving import hasher_state

    return _files.to_bytes(*hasher_state(hasher), "hasher")


def hasher_from_bytes(data: bytes, owner: str) -> Hasher:
    """The hasher that ``hasher_to_bytes`` wrote; ``owner`` names the file around it in errors."""
    try:
        header, arrays = _files.from_bytes(data, "hasher")
    except FileFormatError as error:
        raise FileFormatError(f"the hasher of {owner} {error}") from None
    return _opened(owner, header, arrays)


def _opened(owner: str, header: dict[str, Any], arrays: _files.Tensors) -> Hasher:
    method = header.get("method")
    if not isinstance(method, str) or not (method in HASHERS or method in VIEW_HASHERS):
        raise FileFormatError(f"{owner} holds a hasher that this rankhash does not know: {method!r}")
    from ._saving import restored_hasher, upgrade_header

    try:
        current = upgrade_header(header)
        methods = VIEW_HASHERS if method in VIEW_HASHERS else HASHERS
        return restored_hasher(methods[current["method"]], current, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{owner} does not describe a usable {method}: {error}") from error

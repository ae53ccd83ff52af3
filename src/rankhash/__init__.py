"""Learned rank-order hash codes for vectors, and exact search over them.

::

    vectors ──fit──▶ hasher ──encode──▶ codes ──add──▶ index ──search──▶ neighbours
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ._kernels import CpuInfo, cpu_info
from .codes import CodeLayout
from .errors import (
    BusyError,
    EngineError,
    FileFormatError,
    FilterError,
    IdError,
    InvalidInputError,
    InvalidTypeError,
    LayoutMismatchError,
    RankhashError,
    StorageError,
)
from .index import FlatIndex, Index, TableIndex, open_index
from .neighbors import Neighbors, RadiusNeighbors
from .vectors import as_vectors

if _TYPE_CHECKING:
    from .collection import Collection, Item, Matches, RadiusMatches
    from .hashers import (
        AGH,
        BRE,
        BSSC,
        ITQ,
        JRSH,
        KLSH,
        KSH,
        LSH,
        MLH,
        RSH,
        SDH,
        SPLH,
        SRSH,
        WTA,
        Hasher,
        MinHash,
        SpectralHashing,
        load_hasher,
    )
    from .rank_neighbors import RankNeighbors, RankNeighborsTransformer
    from .tuning import Tuning, tune

__version__ = _version("rankhash")

_LATER = {
    "collection": "Collection Item Matches RadiusMatches",
    "hashers": (
        "AGH BRE BSSC Hasher ITQ JRSH KLSH KSH LSH MLH MinHash RSH SDH SPLH SRSH SpectralHashing WTA load_hasher"
    ),
    "rank_neighbors": "RankNeighbors RankNeighborsTransformer",
    "tuning": "Tuning tune",
}
"""Modules that need scikit-learn, which takes most of a second, and their names: imported when first asked for."""
_HOMES = {name: module for module, names in _LATER.items() for name in names.split()}

__all__ = [
    "AGH",
    "BRE",
    "BSSC",
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
    "BusyError",
    "CodeLayout",
    "Collection",
    "CpuInfo",
    "EngineError",
    "FileFormatError",
    "FilterError",
    "FlatIndex",
    "Hasher",
    "IdError",
    "Index",
    "InvalidInputError",
    "InvalidTypeError",
    "Item",
    "LayoutMismatchError",
    "Matches",
    "MinHash",
    "Neighbors",
    "RadiusMatches",
    "RadiusNeighbors",
    "RankNeighbors",
    "RankNeighborsTransformer",
    "RankhashError",
    "SpectralHashing",
    "StorageError",
    "TableIndex",
    "Tuning",
    "as_vectors",
    "cpu_info",
    "load_hasher",
    "open_index",
    "tune",
]


def __getattr__(name: str) -> _Any:
    if name in _LATER:
        return _import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(_import_module(f"{__name__}.{_HOMES[name]}"), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

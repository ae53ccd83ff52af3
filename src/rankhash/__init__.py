"""Learned rank-order hash codes for vectors, and exact search over them.

::

    vectors ──fit──▶ hasher ──encode──▶ codes ──add──▶ index ──search──▶ neighbours
"""

from importlib.metadata import version as _version

from ._kernels import CpuInfo, cpu_info
from .codes import CodeLayout
from .collection import Collection, Item, Matches, RadiusMatches
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
from .index import FlatIndex, Index, TableIndex, open_index
from .neighbors import Neighbors, RadiusNeighbors
from .rank_neighbors import RankNeighbors, RankNeighborsTransformer
from .tuning import Tuning, tune
from .vectors import as_vectors

__version__ = _version("rankhash")

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

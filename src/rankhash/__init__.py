"""Learned rank-order hash codes for vectors, and exact search over them.

::

    vectors ──fit──▶ hasher ──encode──▶ codes ──add──▶ index ──search──▶ neighbours
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._kernels import CpuInfo, cpu_info
from ._lazy import lazy_names as _lazy_names
from .codes import CodeLayout
from .duplicates import (
    DuplicateGroups,
    NearPairs,
    Pairs,
    duplicate_groups,
    from_hashes,
    hash_images,
    near_pairs,
    near_texts,
)
from .errors import (
    BusyError,
    DeadlineError,
    DuplicateIdError,
    EngineError,
    FileFormatError,
    FilterError,
    IdError,
    InvalidInputError,
    InvalidTypeError,
    LayoutMismatchError,
    RankhashError,
    StorageError,
    TakenIdError,
    TooManyPairsError,
    UnknownIdError,
)
from .index import FlatIndex, Index, LookupIndex
from .neighbors import Neighbors, RadiusNeighbors
from .vectors import as_vectors

if _TYPE_CHECKING:
    from .collection import Collection, Item, Matches, RadiusMatches
    from .embeddings import QuantizedEmbeddings, quantize, semantic_search
    from .hashers import (
        AGH,
        BRE,
        BSSC,
        CCAITQ,
        CMFH,
        CRO,
        DGH,
        HDML,
        ITQ,
        JRSH,
        KLSH,
        KSH,
        LSH,
        LSRH,
        MLH,
        RSH,
        SCM,
        SDH,
        SPLH,
        SRSH,
        WTA,
        CGHash,
        CrossJRSH,
        ForgivingHash,
        Hasher,
        JSDBoosting,
        MinHash,
        PermutationCodes,
        PStableLSH,
        RankQuantizer,
        SemanticHashing,
        SpectralHashing,
        ViewHasher,
        load_hasher,
    )
    from .opening import open_index
    from .rank_neighbors import (
        RankNeighbors,
        RankNeighborsClassifier,
        RankNeighborsRegressor,
        RankNeighborsTransformer,
    )
    from .tuning import Tuning, tune
    from .vector_index import VectorIndex

__version__ = _version("rankhash")

_LAZY = {
    "collection": "Collection Item Matches RadiusMatches",
    "embeddings": "QuantizedEmbeddings quantize semantic_search",
    "hashers": (
        "AGH BRE BSSC CCAITQ CGHash CMFH CRO CrossJRSH DGH ForgivingHash HDML Hasher ITQ JRSH "
        "JSDBoosting KLSH KSH LSH LSRH MLH MinHash PStableLSH PermutationCodes RSH RankQuantizer SCM SDH "
        "SPLH SRSH SemanticHashing SpectralHashing ViewHasher WTA load_hasher"
    ),
    "opening": "open_index",
    "rank_neighbors": "RankNeighbors RankNeighborsClassifier RankNeighborsRegressor RankNeighborsTransformer",
    "tuning": "Tuning tune",
    "vector_index": "VectorIndex",
}
"""Names that are imported on first use, by module."""
_HOMES = {name: module for module, names in _LAZY.items() for name in names.split()}

__all__ = [
    "AGH",
    "BRE",
    "BSSC",
    "CCAITQ",
    "CMFH",
    "CRO",
    "DGH",
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
    "WTA",
    "BusyError",
    "CGHash",
    "CodeLayout",
    "Collection",
    "CpuInfo",
    "CrossJRSH",
    "DeadlineError",
    "DuplicateGroups",
    "DuplicateIdError",
    "EngineError",
    "FileFormatError",
    "FilterError",
    "FlatIndex",
    "ForgivingHash",
    "Hasher",
    "IdError",
    "Index",
    "InvalidInputError",
    "InvalidTypeError",
    "Item",
    "JSDBoosting",
    "LayoutMismatchError",
    "LookupIndex",
    "Matches",
    "MinHash",
    "NearPairs",
    "Neighbors",
    "PStableLSH",
    "Pairs",
    "PermutationCodes",
    "QuantizedEmbeddings",
    "RadiusMatches",
    "RadiusNeighbors",
    "RankNeighbors",
    "RankNeighborsClassifier",
    "RankNeighborsRegressor",
    "RankNeighborsTransformer",
    "RankQuantizer",
    "RankhashError",
    "SemanticHashing",
    "SpectralHashing",
    "StorageError",
    "TakenIdError",
    "TooManyPairsError",
    "Tuning",
    "UnknownIdError",
    "VectorIndex",
    "ViewHasher",
    "as_vectors",
    "cpu_info",
    "duplicate_groups",
    "from_hashes",
    "hash_images",
    "load_hasher",
    "near_pairs",
    "near_texts",
    "open_index",
    "quantize",
    "semantic_search",
    "tune",
]

__getattr__, __dir__ = _lazy_names(__name__, globals(), _HOMES)

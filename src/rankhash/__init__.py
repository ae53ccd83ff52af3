"""Learned rank-order hash codes for vectors, and exact search over them.

::

    vectors ──fit──▶ hasher ──encode──▶ codes ──add──▶ index ──search──▶ neighbours
"""

from importlib.metadata import version as _version

from ._kernels import CpuInfo, cpu_info
from .codes import CodeLayout
from .errors import (
    FileFormatError,
    IdError,
    InvalidInputError,
    InvalidTypeError,
    LayoutMismatchError,
    RankhashError,
)
from .hashers import ITQ, JRSH, KLSH, KSH, LSH, MLH, RSH, SDH, SRSH, WTA, Hasher, SpectralHashing, load_hasher
from .index import FlatIndex
from .neighbors import Neighbors, RadiusNeighbors
from .tuning import Tuning, tune
from .vectors import as_vectors

__version__ = _version("rankhash")

__all__ = [
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
    "CodeLayout",
    "CpuInfo",
    "FileFormatError",
    "FlatIndex",
    "Hasher",
    "IdError",
    "InvalidInputError",
    "InvalidTypeError",
    "LayoutMismatchError",
    "Neighbors",
    "RadiusNeighbors",
    "RankhashError",
    "SpectralHashing",
    "Tuning",
    "as_vectors",
    "cpu_info",
    "load_hasher",
    "tune",
]

"""Names, limits and checksums of the format, shared by writer and reader."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import numpy as np

from .._types import U8, Array

KEY = "rankhash"
VERSION = 1
MAX_HEADER_BYTES = 4 << 20
MAX_TENSOR_BYTES = 1 << 62
DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(f"<{name[0].lower()}{int(name[1:]) // 8}")
    for name in ("U8", "U16", "U32", "U64", "I8", "I16", "I32", "I64", "F16", "F32", "F64")
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}

PathLike = str | os.PathLike[str]
Tensors = dict[str, Array]


def to_json(value: Any) -> str:
    """Canonical JSON: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256_of(array: Array) -> str:
    """The checksum of an array's memory."""
    return hashlib.sha256(bytes_of(array).data).hexdigest()


def bytes_of(array: Array) -> U8:
    """The memory of a C-contiguous array, as bytes."""
    return array.reshape(-1).view(np.uint8)


def digest_of(contents: dict[str, Any], described: dict[str, tuple[str, tuple[int, ...]]]) -> str:
    """The checksum of the contents together with the names, dtypes and shapes of the tensors."""
    return hashlib.sha256(to_json([contents, described]).encode()).hexdigest()

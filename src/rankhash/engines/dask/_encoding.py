"""Codes of a Dask array, block by block."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import dask
import dask.array as da
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...errors import InvalidInputError
from ...hashers import HASHERS, Hasher, hasher_from_bytes, hasher_to_bytes


def encode(array: da.Array, hasher: Hasher) -> da.Array:
    """The codes ``(n, n_bytes)`` of a Dask array of vectors ``(n, d)``, as a lazy Dask array.

    Blocks of rows are kept, and one thread encodes each; blocks that split the features are merged. The hasher is one
    node of the graph and is sent to every worker once. Values are checked when they are computed, as by
    ``hasher.encode``.

    Examples
    --------
    >>> import dask.array as da
    >>> from rankhash import LSH
    >>> hasher = LSH(16, random_state=0).fit([[0.0, 1.0], [1.0, 0.0]])
    >>> codes = encode(da.ones((6, 2), chunks=(4, 1)), hasher)
    >>> codes.chunks
    ((4, 2), (2,))
    """
    check_hasher(hasher)
    check_is_fitted(hasher)
    check_array(array)
    if array.shape[1] != hasher.n_features_in_:
        raise InvalidInputError(
            f"array has {array.shape[1]} features, but {type(hasher).__name__} is expecting "
            f"{hasher.n_features_in_} features as input"
        )
    if array.numblocks[1] > 1:
        array = array.rechunk({1: -1})
    n_bytes = hasher.layout_.n_bytes
    carried = dask.delayed(hasher_to_bytes(hasher), name=f"hasher-{hasher.fingerprint}", traverse=False)
    return da.map_blocks(
        _encode_block,
        array,
        carried=carried,
        chunks=(array.chunks[0], (n_bytes,)),
        dtype=np.uint8,
        meta=np.empty((0, n_bytes), np.uint8),
        token="encode",
    )


def check_array(array: Any) -> None:
    """Raise unless ``array`` is a two-dimensional Dask array of real numbers."""
    if not isinstance(array, da.Array):
        raise InvalidInputError(
            f"array must be a dask array, got {type(array).__name__}; dask.array.from_array(X, chunks=…) makes one"
        )
    if array.ndim != 2:
        raise InvalidInputError(f"array must hold vectors, one per row, got the shape {array.shape}")
    if array.dtype.kind not in "fiub":
        raise InvalidInputError(f"array must hold real numbers, got {array.dtype}")


def check_hasher(hasher: Any) -> None:
    """Raise unless workers can restore ``hasher``: it must be of a class of this library."""
    if not isinstance(hasher, Hasher) or HASHERS.get(type(hasher).__name__) is not type(hasher):
        raise InvalidInputError(
            f"hasher must be one of rankhash, which workers know by name, got {type(hasher).__name__}; "
            "for others use array.map_blocks(hasher.encode, …)"
        )


def _encode_block(block: NDArray[Any], carried: bytes, block_id: tuple[int, ...] | None = None) -> NDArray[np.uint8]:
    hasher = _restored(carried)
    if not len(block):
        return np.empty((0, hasher.layout_.n_bytes), np.uint8)
    try:
        return hasher.encode(block, n_threads=1)
    except InvalidInputError as error:
        raise type(error)(f"in block {block_id[0] if block_id else 0} of the array: {error}") from None


@lru_cache(maxsize=4)
def _restored(carried: bytes) -> Hasher:
    """The hasher, restored once per worker; the cache key is cheap, since bytes keep their hash."""
    return hasher_from_bytes(carried, "the graph")

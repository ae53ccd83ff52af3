"""Vectors to codes, codes to symbols, and codes to the bit slices that are searched."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._types import F32, I64, U8
from ..errors import InvalidInputError

BLOCK = 256
"""Codes in one block of bit slices."""

SLICE = BLOCK // 8
"""Bytes of one bit slice of a block."""


def first_nonfinite_row(vectors: F32) -> int:
    """The first row that holds NaN or infinity, or -1."""
    return _native.first_nonfinite_row(vectors)


def encode(
    vectors: F32,
    projections: F32,
    bias: F32 | None,
    center: F32 | None,
    n_symbols: int,
    arity: int,
    n_threads: int,
) -> tuple[U8, int]:
    """Packed codes, the argmax of ``(x - center)·w + bias`` per symbol, and the first row that is not finite, or -1.

    ``vectors`` is (n, d) float32 and contiguous; ``projections`` is (rows, d), ``bias`` (rows,) and ``center`` (d,).
    With n_symbols · arity rows, the rows of one symbol are consecutive, and the first of equal maxima wins. With arity
    2 and n_symbols rows, a symbol is 1 where its row is positive. Each projection is summed in the order of the
    dimensions by fused multiply-adds, so that codes depend neither on the instruction set, nor on the number of
    threads, nor on the other vectors of the call.
    """
    codes = np.empty((len(vectors), packed_bytes(n_symbols, arity)), np.uint8)
    return codes, _native.encode(vectors, projections, bias, center, n_symbols, arity, n_threads, codes)


def project(vectors: F32, projections: F32, bias: F32 | None, center: F32 | None, n_threads: int) -> F32:
    """The values ``(n, rows)`` of ``(x - center)·w + bias`` that `encode` compares, summed in the same order."""
    values = np.empty((len(vectors), len(projections)), np.float32)
    _native.project(vectors, projections, bias, center, n_threads, values)
    return values


def inner_products(a: F32, b: F32) -> F32:
    """``a @ b.T``, summed in the order of the dimensions: unlike that of BLAS, the same on every processor."""
    return project(np.ascontiguousarray(a), np.ascontiguousarray(b), None, None, 1)


def encode_windows(vectors: F32, windows: NDArray[np.int32], n_threads: int) -> tuple[U8, int]:
    """Packed codes, the argmax of products of entries of x, and the first row that is not finite, or -1.

    ``windows`` is (n_symbols, arity, degree): candidate k of symbol s is the product of ``x[windows[s, k]]``.
    """
    n_symbols, arity, _ = windows.shape
    codes = np.empty((len(vectors), packed_bytes(n_symbols, arity)), np.uint8)
    return codes, _native.encode_windows(vectors, windows, n_threads, codes)


def packed_bytes(n_symbols: int, arity: int) -> int:
    """Bytes of one packed code."""
    return (n_symbols * (arity - 1).bit_length() + 7) // 8


def pack(symbols: U8, arity: int) -> U8:
    """Packed codes of symbols that are all below ``arity``."""
    codes = np.empty((len(symbols), packed_bytes(symbols.shape[1], arity)), np.uint8)
    _native.pack(symbols, arity, codes)
    return codes


def unpack(codes: U8, n_symbols: int, arity: int) -> U8:
    """The symbols ``(n, n_symbols)`` of packed codes."""
    symbols = np.empty((len(codes), n_symbols), np.uint8)
    _native.unpack(codes, arity, symbols)
    return symbols


def first_invalid_code(codes: U8, n_symbols: int, arity: int) -> int:
    """The first row with a symbol of ``arity`` or above, or with padding bits that are not 0; or -1."""
    return _native.first_invalid_code(codes, n_symbols, arity)


def first_invalid_position(blocks: U8, size: int, n_symbols: int, arity: int) -> int:
    """The first position below ``size`` whose code has a symbol of ``arity`` or above; or -1."""
    return _native.first_invalid_position(blocks, size, n_symbols, arity)


def allocate_blocks(n_codes: int, n_bits: int) -> U8:
    """An uninitialised, cache-aligned array ``(n_blocks, n_bits, SLICE)``; `write_slices` clears a block first."""
    shape = (-(-n_codes // BLOCK), n_bits, SLICE)
    n_bytes = shape[0] * shape[1] * shape[2]
    try:
        raw = np.empty(n_bytes + 64, np.uint8)  # not np.zeros: only np.empty requests huge pages
    except MemoryError as error:
        raise InvalidInputError(f"there is no memory for {n_codes:,} codes, {n_bytes:,} bytes") from error
    first = -raw.ctypes.data % 64
    return raw[first : first + n_bytes].reshape(shape)


def write_slices(blocks: U8, start: int, codes: U8) -> None:
    """Write packed codes at the positions ``start``, ``start + 1``, … of ``blocks``; a block begins as zeros."""
    blocks[-(-start // BLOCK) : -(-(start + len(codes)) // BLOCK)] = 0
    _native.write_slices(blocks, start, codes)


def write_slices_at(blocks: U8, positions: I64, codes: U8) -> None:
    """Write packed codes at the given positions of ``blocks``."""
    _native.write_slices_at(blocks, positions, codes)


def read_slices(blocks: U8, positions: I64, n_bytes: int) -> U8:
    """The packed codes at the given positions of ``blocks``."""
    codes = np.empty((len(positions), n_bytes), np.uint8)
    _native.read_slices(blocks, positions, codes)
    return codes

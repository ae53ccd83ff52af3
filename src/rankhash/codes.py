"""The layout of codes: [`CodeLayout`][rankhash.CodeLayout], packing, and binary embeddings that preserve distances.

::

    symbols (n, n_symbols) uint8  ⇄  codes (n, n_bytes) uint8
    symbol s takes bits s·b … s·b+b-1 of the row, b = ceil(log2 arity), least significant bit first;
    bits after the last symbol are 0
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from . import _kernels
from ._checks import check_integer
from ._types import U8, U64, Array
from .errors import InvalidInputError, LayoutMismatchError

MAX_SYMBOLS = 4096
MAX_ARITY = 16

_UINT8 = np.dtype(np.uint8)


@dataclass(frozen=True)
class CodeLayout:
    """The layout of codes: the number of symbols per code, and the number of values per symbol.

    Parameters
    ----------
    n_symbols
        Number of symbols per code, 1 to 4096.
    arity
        Number of values per symbol, 2 to 16.
    fingerprint
        Identifies the hasher that makes the codes; empty (default) if unknown.

    Examples
    --------
    >>> layout = CodeLayout(n_symbols=16, arity=4)
    >>> layout.bits, layout.n_bytes
    (32, 4)
    >>> symbols = np.arange(16, dtype=np.uint8)[None, :] % 4
    >>> bool((layout.unpack(layout.pack(symbols)) == symbols).all())
    True
    """

    n_symbols: int
    arity: int
    fingerprint: str = ""

    def __post_init__(self) -> None:
        for name, low, high in (("n_symbols", 1, MAX_SYMBOLS), ("arity", 2, MAX_ARITY)):
            object.__setattr__(self, name, check_integer(name, getattr(self, name), low, high))
        if not isinstance(self.fingerprint, str):
            raise InvalidInputError(f"fingerprint must be a string, got {self.fingerprint!r}")

    @property
    def bits_per_symbol(self) -> int:
        """Bits per symbol: ceil(log2 arity)."""
        return (self.arity - 1).bit_length()

    @cached_property
    def bits(self) -> int:
        """Bits per code, its size in storage: n_symbols · ceil(log2 arity)."""
        return self.n_symbols * self.bits_per_symbol

    @cached_property
    def n_bytes(self) -> int:
        """Bytes per packed code."""
        return _kernels.packed_bytes(self.n_symbols, self.arity)

    def pack(self, symbols: Any) -> U8:
        """The packed codes ``(n, n_bytes)`` of symbols ``(n, n_symbols)``."""
        symbols = np.asarray(symbols)
        self._check_shape(symbols, self.n_symbols, "symbols")
        if symbols.size and (symbols.min() < 0 or symbols.max() >= self.arity):
            raise LayoutMismatchError(
                f"symbols must lie between 0 and {self.arity - 1}, got {symbols.min()} to {symbols.max()}"
            )
        return _kernels.pack(np.ascontiguousarray(symbols, dtype=np.uint8), self.arity)

    def unpack(self, codes: Any) -> U8:
        """The symbols ``(n, n_symbols)`` of packed codes ``(n, n_bytes)``."""
        return _kernels.unpack(self.check(codes), self.n_symbols, self.arity)

    def check(self, codes: Any) -> U8:
        """``codes`` as a contiguous array; a LayoutMismatchError if they do not have this layout."""
        checked: U8 = np.ascontiguousarray(codes)
        if checked.ndim != 2 or checked.shape[1] != self.n_bytes or checked.dtype != _UINT8:
            given = np.asarray(codes)  # ascontiguousarray makes a row of a single number
            self._check_shape(given, self.n_bytes, "codes")
            raise LayoutMismatchError(f"codes must be uint8, got {given.dtype}; pack symbols with layout.pack first")
        bad = _kernels.first_invalid_code(checked, self.n_symbols, self.arity)
        if bad >= 0:
            raise LayoutMismatchError(
                f"row {bad} is not a code of {self.n_symbols} symbols of arity {self.arity}; "
                "encode with the hasher that this layout belongs to"
            )
        return checked

    def _check_shape(self, array: Array, width: int, what: str) -> None:
        if array.ndim != 2 or array.shape[1] != width:
            raise LayoutMismatchError(
                f"{what} of {self.n_symbols} symbols of arity {self.arity} must have the shape (n, {width}), "
                f"got {array.shape}"
            )
        if array.dtype.kind not in "ui":
            raise LayoutMismatchError(f"{what} must be integers, got {array.dtype}")

    def one_hot(self, symbols: Any) -> tuple[U8, int]:
        """One-hot bits ``(n, n_symbols · arity / 8)`` of symbols, and the scale 2.

        The Hamming distance of the bits is the scale times the number of differing symbols. The bits are packed least
        significant first and padded with zeros to whole bytes.
        """
        return embed_symbols(self.unpack(self.pack(symbols)), np.eye(self.arity, dtype=np.uint8)), 2

    def simplex(self, symbols: Any) -> tuple[U8, int]:
        """The shortest bits with the property of `one_hot`, for an arity that is a power of two, and their scale.

        A symbol takes arity - 1 bits, and the scale is arity / 2: any two rows of a Hadamard matrix differ in half of
        their places, and its first column is constant.
        """
        if self.arity & (self.arity - 1):
            raise InvalidInputError(
                f"the simplex embedding needs an arity that is a power of two, not {self.arity}; use one_hot"
            )
        rows, scale = embedding(self.arity)
        return embed_symbols(self.unpack(self.pack(symbols)), rows), scale

    def embed(self, codes: Any) -> tuple[U8, int]:
        """The bits and the scale of packed codes: `simplex` if the arity is a power of two, else `one_hot`."""
        rows, scale = embedding(self.arity)
        return embed_symbols(self.unpack(codes), rows), scale

    def words(self, codes: Any) -> tuple[U64, int]:
        """The bits of [`embed`][rankhash.CodeLayout.embed] as 64-bit integers ``(n, n_words)``, and the scale.

        Bit i of the embedding is bit i % 64, counted from the least significant, of word i // 64.

        >>> layout = CodeLayout(n_symbols=3, arity=4)
        >>> words, scale = layout.words(layout.pack([[0, 1, 2], [0, 3, 3]]))
        >>> [f"{word:09b}" for word in words[:, 0].tolist()], scale
        (['110101000', '011011000'], 2)
        """
        bits, scale = self.embed(codes)
        padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
        padded[:, : bits.shape[1]] = bits
        return padded.view("<u8").astype(np.uint64, copy=False), scale


def embedding(arity: int) -> tuple[U8, int]:
    """Rows of bits ``(arity, bits)``, one per value of a symbol, any two of which differ in ``scale`` places.

    They are a Hadamard matrix without its constant column if the arity is a power of two, and unit vectors otherwise.

    >>> embedding(4)[0].tolist()
    [[0, 0, 0], [1, 0, 1], [0, 1, 1], [1, 1, 0]]
    """
    if arity & (arity - 1):
        return np.eye(arity, dtype=np.uint8), 2
    values = np.arange(arity, dtype=np.uint8)
    shared = np.bitwise_and.outer(values, values[1:])
    parity = np.unpackbits(shared[..., None], axis=-1).sum(axis=-1, dtype=np.uint8) & np.uint8(1)
    return parity, arity // 2


def embed_symbols(symbols: U8, rows: U8) -> U8:
    """The concatenated rows of all symbols, packed least significant bit first and padded with zeros to bytes.

    Eight symbols fill as many bytes as a row has bits. They are looked up in pairs.
    """
    n, n_symbols = symbols.shape
    arity, width = rows.shape
    n_groups, n_bits = -(-n_symbols // 8), n_symbols * width
    padded = np.zeros((n, n_groups * 8), np.uint8)
    padded[:, :n_symbols] = symbols
    pairs = (padded[:, 0::2] * np.uint8(arity) + padded[:, 1::2]).reshape(n, n_groups, 4)
    tables = _pair_tables(rows)
    words = np.zeros((n, n_groups, tables.shape[2]), "<u8")
    for place, word in np.argwhere(tables.any(axis=1)):
        words[:, :, word] |= tables[place, :, word][pairs[:, :, place]]
    whole = words.view(np.uint8)[:, :, :width].reshape(n, n_groups * width)
    packed = np.ascontiguousarray(whole[:, : -(-n_bits // 8)])
    if n_bits % 8:
        packed[:, -1] &= np.uint8((1 << n_bits % 8) - 1)
    return packed


def _pair_tables(rows: U8) -> U64:
    """``(4, arity², 1 or 2)``: the bits of each pair of symbols, at each of the four places of a pair in a group."""
    arity, width = rows.shape
    pairs = np.concatenate([np.repeat(rows, arity, axis=0), np.tile(rows, (arity, 1))], axis=1)
    bits = np.zeros((4, arity * arity, -(-width // 8) * 64), np.uint8)
    for place in range(4):
        bits[place, :, 2 * width * place : 2 * width * (place + 1)] = pairs
    return np.packbits(bits, axis=2, bitorder="little").view("<u8").astype(np.uint64, copy=False)

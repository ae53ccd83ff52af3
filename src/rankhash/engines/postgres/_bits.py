"""Codes as bit strings of PostgreSQL, whose Hamming distance is proportional to the distance of the codes.

::

    symbol s → its row of rankhash.codes.embedding, `copies[s]` times; the first bit stands leftmost
    distance = differing bits / scale · step
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._checks import check_integer, check_radius
from ..._types import F32, F64, U8
from ...codes import CodeLayout, embed_symbols, embedding
from ...errors import InvalidInputError, LayoutMismatchError

MAX_BITS = 64_000
"""Upper limit of pgvector's HNSW; every layout without weights is shorter"""

LEVELS = 15
PREFIX = "rankhash "

_REVERSED = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little"), axis=1)[:, 0]


@dataclass(frozen=True)
class BitLayout:
    """How codes of a layout become bit strings."""

    layout: CodeLayout
    copies: tuple[int, ...] | None = None
    """Repetitions of each symbol's bits; None: one each"""
    step: float = 1.0
    """The distance that one copy of a differing symbol adds"""

    @classmethod
    def weighted(cls, layout: CodeLayout, weights: ArrayLike | None, levels: int | None) -> BitLayout:
        """The layout with weights as repetitions: exact for whole numbers, otherwise rounded to ``levels`` steps."""
        if weights is None:
            return cls(layout)
        values = _check_weights(layout, weights)
        if levels is None and (values == np.floor(values)).all() and values.max() <= MAX_BITS:
            step = float(np.gcd.reduce(values.astype(np.int64)))
        else:
            step = float(values.max()) / check_integer("levels", LEVELS if levels is None else levels, 1, MAX_BITS)
        bits = cls(layout, tuple(np.rint(values / step).astype(int).tolist()), step)
        if bits.n_bits > MAX_BITS:
            raise InvalidInputError(
                f"these weights take {bits.n_bits} bits per code, more than {MAX_BITS}; "
                f"levels={LEVELS}, or fewer, rounds them to that many steps"
            )
        return bits

    @property
    def width(self) -> int:
        """Bits of one copy of a symbol."""
        return len(embedding(self.layout.arity)[0][0])

    @property
    def scale(self) -> int:
        """Bits in which two copies of different symbols differ."""
        return embedding(self.layout.arity)[1]

    @property
    def n_bits(self) -> int:
        """Bits of a code's string: the n of its type bit(n)."""
        return self.width * (self.layout.n_symbols if self.copies is None else sum(self.copies))

    @property
    def n_bytes(self) -> int:
        """Bytes of a string, without its length."""
        return -(-self.n_bits // 8)

    @property
    def weights(self) -> F64 | None:
        """The weight of each symbol after rounding; None if each weighs 1."""
        return None if self.copies is None else np.array(self.copies) * self.step

    def pack(self, codes: ArrayLike) -> U8:
        """The strings ``(n, n_bytes)`` of codes: the leftmost bit is the most significant of the first byte."""
        symbols = self.layout.unpack(codes)
        if self.copies is not None:
            symbols = np.repeat(symbols, self.copies, axis=1)
        packed: U8 = _REVERSED[embed_symbols(symbols, embedding(self.layout.arity)[0])]
        return packed

    def unpack(self, strings: U8) -> U8:
        """The codes of such strings."""
        if self.copies is not None and 0 in self.copies:
            raise InvalidInputError("symbols of weight 0 are not in the table, so that its codes cannot be read back")
        bits = np.unpackbits(strings, axis=1, count=self.n_bits).reshape(len(strings), -1, self.width)
        if self.copies is not None:
            bits = bits[:, np.cumsum([0, *self.copies[:-1]])]
        powers = 1 << np.arange(self.width)
        symbol_of = np.full(1 << self.width, 255, np.uint8)
        symbol_of[embedding(self.layout.arity)[0] @ powers] = np.arange(self.layout.arity)
        symbols = symbol_of[bits @ powers]
        if symbols.size and symbols.max() == 255:
            raise LayoutMismatchError("the table holds bit strings that are no codes of its layout")
        return self.layout.pack(symbols)

    def distances(self, differing: NDArray[Any]) -> F32:
        """Distances from numbers of differing bits."""
        return (np.asarray(differing, np.float64) / self.scale * self.step).astype(np.float32)

    def most_differing(self, radius: float) -> int:
        """How many bits may differ within a radius."""
        radius = check_radius(radius)
        most = math.floor(min(radius / self.step, self.n_bits)) + 1
        while most * self.step > radius:
            most -= 1
        return most * self.scale

    # -- kept in the database --------------------------------------------------------------------------------------

    def to_text(self) -> str:
        """The comment on the column of codes, which ``from_text`` reads."""
        layout = self.layout
        facts = {"n_symbols": layout.n_symbols, "arity": layout.arity, "fingerprint": layout.fingerprint}
        facts |= {"bits_per_symbol": self.width, "scale": self.scale}
        return PREFIX + json.dumps(facts | {"copies": self.copies, "step": self.step})

    @classmethod
    def from_text(cls, text: str | None) -> BitLayout | None:
        """The layout that ``to_text`` wrote, or None if the text is something else."""
        if text is None or not text.startswith(PREFIX):
            return None
        try:
            facts = json.loads(text[len(PREFIX) :])
            layout = CodeLayout(facts["n_symbols"], facts["arity"], facts["fingerprint"])
            bits = cls(layout, None if facts["copies"] is None else tuple(facts["copies"]), float(facts["step"]))
            known = (facts["bits_per_symbol"], facts["scale"]) == (bits.width, bits.scale)
            return bits if known and bits._is_sane() else None
        except (ValueError, TypeError, KeyError, RecursionError):
            return None

    def _is_sane(self) -> bool:
        copies = self.copies or (1,) * self.layout.n_symbols
        whole = all(type(n) is int and n >= 0 for n in copies)
        return (
            whole and len(copies) == self.layout.n_symbols and 0 < self.n_bits <= MAX_BITS and 0 < self.step < math.inf
        )


def _check_weights(layout: CodeLayout, weights: ArrayLike) -> F64:
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (layout.n_symbols,):
        raise LayoutMismatchError(
            f"weights must be one for each of {layout.n_symbols} symbols, got the shape {values.shape}"
        )
    if not (np.isfinite(values).all() and (values >= 0).all() and values.max() > 0):
        raise InvalidInputError("weights must be finite and not negative, and not all of them 0")
    return values

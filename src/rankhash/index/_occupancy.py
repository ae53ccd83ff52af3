"""How codes spread over buckets: what look-up costs with the codes of a hasher."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..codes import CodeLayout

U8 = NDArray[np.uint8]
RADII = (0, 1, 2, 3)


@dataclass(frozen=True)
class Occupancy:
    """How many codes fall together, and what a look-up of whole codes would cost: see :meth:`FlatIndex.occupancy`.

    Equal codes share a bucket. The more of the code's bits its entropy uses, the better the codes tell vectors apart;
    the fewer keys lie within the radius that is needed, the cheaper is a look-up.
    """

    n_codes: int
    n_buckets: int
    """Different codes."""
    largest: int
    """Codes in the largest bucket."""
    entropy: float
    """Of the buckets, in bits; at most ``log2(n_codes)`` and the bits of a code."""
    keys: tuple[float, ...]
    """Keys within 0, 1, 2 and 3 differing symbols of one: what the plain look-up of whole codes must probe."""
    hits: tuple[float, ...]
    """Codes that a stored code finds within 0, 1, 2 and 3 differing symbols besides itself, on average of a sample."""

    def __str__(self) -> str:
        mean = self.n_codes / max(self.n_buckets, 1)
        lines = [
            f"{self.n_codes} codes in {self.n_buckets} buckets, {mean:.2f} each, {self.largest} in the largest",
            f"entropy {self.entropy:.2f} bits",
        ]
        lines += [f"R = {r}: {k:.0f} keys, {h:.1f} hits" for r, k, h in zip(RADII, self.keys, self.hits, strict=True)]
        return "\n".join(lines)


def bucket_sizes(codes: U8) -> NDArray[np.int64]:
    """How often each of the different codes ``(n, n_bytes)`` occurs."""
    n_bytes = codes.shape[1]
    if n_bytes <= 8:
        words = np.zeros((len(codes), 8), np.uint8)
        words[:, :n_bytes] = codes
        return np.unique(words.view(np.uint64).ravel(), return_counts=True)[1]
    rows = np.ascontiguousarray(codes).view(np.dtype((np.void, n_bytes))).ravel()
    return np.unique(rows, return_counts=True)[1]


def keys_within(layout: CodeLayout, radius: int) -> float:
    """Σ C(n_symbols, i) · (arity - 1)^i up to the radius."""
    return float(sum(math.comb(layout.n_symbols, i) * (layout.arity - 1) ** i for i in range(radius + 1)))


def occupancy(layout: CodeLayout, codes: U8, hits: tuple[float, ...]) -> Occupancy:
    """The report of all codes, given the mean hits within :data:`RADII` of a sample of them."""
    sizes = bucket_sizes(codes)
    shares = sizes / max(len(codes), 1)
    entropy = float(-(shares * np.log2(shares)).sum()) if len(sizes) else 0.0
    keys = tuple(keys_within(layout, radius) for radius in RADII)
    return Occupancy(len(codes), len(sizes), int(sizes.max(initial=0)), abs(entropy), keys, hits)

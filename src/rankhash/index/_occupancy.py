"""The distribution of codes over buckets of equal codes, which determines the cost of look-up."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._types import U8
from ..codes import CodeLayout

RADII = (0, 1, 2, 3)


@dataclass(frozen=True)
class Occupancy:
    """The distribution of codes over buckets: the answer of [`FlatIndex.occupancy`][rankhash.FlatIndex.occupancy].

    Equal codes share a bucket. Codes with a high entropy distinguish vectors well. Look-up is cheap if few keys lie
    within the radius that is needed.
    """

    n_codes: int
    """Number of codes."""
    n_buckets: int
    """Number of distinct codes."""
    largest: int
    """Number of codes in the largest bucket."""
    entropy: float
    """Entropy of the buckets in bits; at most ``log2(n_codes)``, and at most the bits per code."""
    keys: tuple[float, ...]
    """Number of keys within 0, 1, 2 and 3 differing symbols: the probes of look-up in one table of whole codes."""
    hits: tuple[float, ...]
    """Mean number of other codes within 0, 1, 2 and 3 differing symbols of a stored code, over a sample."""

    def __str__(self) -> str:
        mean = self.n_codes / max(self.n_buckets, 1)
        lines = [
            f"{self.n_codes} codes in {self.n_buckets} buckets, {mean:.2f} each, {self.largest} in the largest",
            f"entropy {self.entropy:.2f} bits",
        ]
        lines += [f"R = {r}: {k:.0f} keys, {h:.1f} hits" for r, k, h in zip(RADII, self.keys, self.hits, strict=True)]
        return "\n".join(lines)


def bucket_sizes(codes: U8) -> NDArray[np.int64]:
    """The number of occurrences of each distinct code, for codes ``(n, n_bytes)``."""
    n_bytes = codes.shape[1]
    if n_bytes <= 8:
        words = np.zeros((len(codes), 8), np.uint8)
        words[:, :n_bytes] = codes
        return np.unique(words.view(np.uint64).ravel(), return_counts=True)[1]
    rows = np.ascontiguousarray(codes).view(np.dtype((np.void, n_bytes))).ravel()
    return np.unique(rows, return_counts=True)[1]


def keys_within(layout: CodeLayout, radius: int) -> float:
    """Number of codes within a radius of a code: Σ C(n_symbols, i) · (arity - 1)^i for i = 0 … radius."""
    return float(sum(math.comb(layout.n_symbols, i) * (layout.arity - 1) ** i for i in range(radius + 1)))


def occupancy(layout: CodeLayout, codes: U8, hits: tuple[float, ...]) -> Occupancy:
    """The report on all codes, given the mean hits of a sample within `RADII`."""
    sizes = bucket_sizes(codes)
    shares = sizes / max(len(codes), 1)
    entropy = float(-(shares * np.log2(shares)).sum()) if len(sizes) else 0.0
    keys = tuple(keys_within(layout, radius) for radius in RADII)
    return Occupancy(len(codes), len(sizes), int(sizes.max(initial=0)), abs(entropy), keys, hits)

"""Near-copies among texts, without a model: [`near_texts`][rankhash.near_texts].

::

    texts ──shingles──▶ sets ──MinHash──▶ codes ──near_pairs──▶ candidates ──exact Jaccard──▶ pairs
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from .._checks import check_choice, check_integer, check_number
from .._types import F64, I64, U8, U64
from ..codes import CodeLayout
from ._shingles import HASH_BITS, MOST_SETS, UNITS, ShingleSets, shingle_sets
from .pairs import MAX_PAIRS, Pairs, near_pairs

ARITY = 16
SIZES = {"character": 5, "word": 3}

_MEMBERS_TOGETHER = 1 << 20


def near_texts(
    texts: Iterable[str],
    threshold: float = 0.8,
    *,
    unit: str = "character",
    size: int | None = None,
    n_symbols: int = 64,
    recall: float = 0.99,
    random_state: int = 0,
    max_pairs: int | None = MAX_PAIRS,
    n_threads: int | None = None,
) -> Pairs:
    """Pairs of texts whose sets of shingles have a Jaccard similarity of at least ``threshold``.

    Candidates are found by MinHash codes and confirmed by their exact similarity, so that no pair is wrong. Of the
    pairs at the threshold itself, the fraction ``recall`` is found; of more similar pairs, a larger one. The distances
    of the pairs are 1 - Jaccard. Texts are compared regardless of case and of the amount of white space; texts without
    any shingle are in no pair.

    Parameters
    ----------
    texts
        Strings; a pair names them by their positions.
    threshold
        The smallest Jaccard similarity, above 0, at most 1; default 0.8.
    unit
        Shingles are runs of ``"character"`` (default) or of ``"word"``.
    size
        The length of a shingle; default None: 5 characters or 3 words.
    n_symbols
        Symbols of a MinHash code, of 4 bits each; default 64. More symbols give fewer candidates.
    recall
        The fraction of the pairs at the threshold that is found, below 1; default 0.99.
    random_state
        Seed of the MinHash functions; default 0.
    max_pairs
        Largest number of candidates; 1,000,000,000 by default, None for no limit. More are an error.
    n_threads
        None (default) uses every core that this process may use.

    Examples
    --------
    >>> from rankhash import near_texts
    >>> pairs = near_texts(["One small step for man.", "Hello, world!", "one small step for a man"], 0.6)
    >>> pairs.first, pairs.second
    (array([0]), array([2]))
    """
    check_choice("unit", unit, UNITS)
    threshold = check_number("threshold", threshold, 0, 1)
    check_number("recall", recall, 0, 1, open_interval=True)
    size = SIZES[unit] if size is None else check_integer("size", size, 1, 64)
    layout = CodeLayout(check_integer("n_symbols", n_symbols, 1, 1024), ARITY)
    sets = shingle_sets(texts, unit, size)
    kept = np.flatnonzero(sets.sizes())
    codes = minhash_codes(sets, layout, check_integer("random_state", random_state, 0))[kept]
    radius = code_radius(layout.n_symbols, threshold, recall)
    found = near_pairs(codes, radius, layout=layout, max_pairs=max_pairs, n_threads=n_threads)
    parts = [Pairs(kept[:0], kept[:0], np.empty(0, np.float32))]
    parts += [_confirmed(sets, kept[batch.first], kept[batch.second], threshold) for batch in found]
    return Pairs(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def code_radius(n_symbols: int, threshold: float, recall: float) -> int:
    """The smallest radius within which codes of sets at the threshold lie with the probability ``recall``.

    Symbols differ independently with the probability p = (1 - 1/arity) (1 - threshold).
    """
    p = (1 - 1 / ARITY) * (1 - threshold)
    total = 0.0
    for differing in range(n_symbols + 1):
        total += math.comb(n_symbols, differing) * p**differing * (1 - p) ** (n_symbols - differing)
        if total >= recall:
            return differing
    return n_symbols


def minhash_codes(sets: ShingleSets, layout: CodeLayout, random_state: int) -> U8:
    """Codes whose symbols are hashes of the member with the smallest value of a random function; 0 for empty sets."""
    rng = np.random.default_rng(random_state)
    factors = rng.integers(0, 2**63, layout.n_symbols, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    symbols = np.zeros((len(sets.offsets) - 1, layout.n_symbols), np.uint8)
    for start, stop in _runs(sets.sizes()):
        members = sets.members[sets.offsets[start] : sets.offsets[stop]]
        full = np.flatnonzero(sets.sizes()[start:stop])
        if not len(full):
            continue
        places = sets.offsets[start:stop][full] - sets.offsets[start]
        mixed = members * np.uint64(0xD6E8FEB86659FD93)
        mixed ^= mixed >> np.uint64(32)
        for symbol, factor in enumerate(factors):
            least = np.minimum.reduceat(mixed * factor, places)
            symbols[start + full, symbol] = _labels(least)
    return layout.pack(symbols)


def _labels(values: U64) -> U8:
    """Four bits of each number that depend on all of its bits."""
    mixed = values * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    labels: U8 = ((mixed * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(60)).astype(np.uint8)
    return labels


def _runs(sizes: I64, most: int | None = None) -> Iterator[tuple[int, int]]:
    """Ranges of sets with a few million members each."""
    ends, start = np.cumsum(sizes), 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _MEMBERS_TOGETHER)))
        stop = min(stop, start + most) if most else stop
        yield start, stop
        start = stop


def _confirmed(sets: ShingleSets, first: I64, second: I64, threshold: float) -> Pairs:
    """The pairs whose Jaccard similarity reaches the threshold."""
    sizes = sets.sizes()
    similarities = np.empty(len(first))
    for start, stop in _runs(sizes[first] + sizes[second], MOST_SETS):
        similarities[start:stop] = _jaccard(sets, first[start:stop], second[start:stop])
    near = similarities >= threshold
    return Pairs(first[near], second[near], (1 - similarities[near]).astype(np.float32))


def _jaccard(sets: ShingleSets, first: I64, second: I64) -> F64:
    sizes = sets.sizes()
    keys = np.concatenate([_keys(sets, first), _keys(sets, second)])
    keys.sort()
    twice = keys[1:][keys[1:] == keys[:-1]] >> np.uint64(HASH_BITS)
    common = np.bincount(twice.astype(np.int64), minlength=len(first))
    return common / (sizes[first] + sizes[second] - common)


def _keys(sets: ShingleSets, chosen: I64) -> U64:
    """Keys of the members of the chosen sets: the position of the set in the high bits, the member in the low ones."""
    sizes = sets.sizes()[chosen]
    starts = np.repeat(sets.offsets[chosen] - (np.cumsum(sizes) - sizes), sizes)
    places = np.repeat(np.arange(len(chosen), dtype=np.uint64) << np.uint64(HASH_BITS), sizes)
    return places | sets.members[starts + np.arange(len(starts))]

"""Texts as sets of shingles: hashes of runs of consecutive characters or words.

::

    texts ──normalise──▶ characters or words ──every run of `size`──▶ sorted distinct numbers of 40 bits per text
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from .._types import I64, U64
from ..errors import InvalidTypeError

UNITS = ("character", "word")
HASH_BITS = 40
MOST_SETS = 1 << (64 - HASH_BITS)  # largest number of sets whose members fit into 64-bit keys

_ODD = np.uint64(0x9E3779B97F4A7C15)
_CHUNK_CHARACTERS = 1 << 20
_CHUNK_TEXTS = 1 << 14
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w+")


class ShingleSets(NamedTuple):
    """Sets of numbers: those of text i are ``members[offsets[i]:offsets[i + 1]]``, ascending and distinct."""

    offsets: I64
    members: U64

    def sizes(self) -> I64:
        """The number of members of each set."""
        return np.diff(self.offsets)


def shingle_sets(texts: Iterable[str], unit: str, size: int) -> ShingleSets:
    """The shingles of texts, regardless of case and of the amount of white space.

    A text that is shorter than a shingle is one shingle; a text without characters or words has none.
    """
    counts, members = [np.zeros(1, np.int64)], [np.empty(0, np.uint64)]
    make = _character_hashes if unit == "character" else _WordHashes()
    for chunk in _chunks(texts):
        lengths, hashes = _windows(*make(chunk), size)
        sets, found = distinct(np.repeat(np.arange(len(chunk)), lengths), hashes)
        counts.append(np.bincount(sets, minlength=len(chunk)))
        members.append(found)
    return ShingleSets(np.cumsum(np.concatenate(counts)), np.concatenate(members))


def distinct(sets: I64, members: U64) -> tuple[I64, U64]:
    """Set numbers (below MOST_SETS) and their members, in order and without repetition."""
    keys = (sets.astype(np.uint64) << np.uint64(HASH_BITS)) | members
    keys.sort()
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
    return (keys >> np.uint64(HASH_BITS)).astype(np.int64), keys & np.uint64((1 << HASH_BITS) - 1)


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Normalised texts, a few megabytes at a time."""
    rest = enumerate(texts)
    while True:
        chunk: list[str] = []
        n_characters = 0
        for number, text in islice(rest, _CHUNK_TEXTS):
            if not isinstance(text, str):
                raise InvalidTypeError(f"texts must be strings, but text {number} is {type(text).__name__}")
            chunk.append(_SPACE.sub(" ", text.casefold()).strip())
            n_characters += len(chunk[-1])
            if n_characters > _CHUNK_CHARACTERS:
                break
        if not chunk:
            return
        yield chunk


def _character_hashes(chunk: Sequence[str]) -> tuple[I64, U64]:
    """The number of characters of each text, and all code points."""
    lengths = np.fromiter(map(len, chunk), np.int64, len(chunk))
    points = np.frombuffer("".join(chunk).encode("utf-32-le", "surrogatepass"), "<u4")
    return lengths, points.astype(np.uint64)


class _WordHashes:
    """The number of words of each text, and a hash per word that is the same in every process."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, chunk: Sequence[str]) -> tuple[I64, U64]:
        words = [_WORD.findall(text) for text in chunk]
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        flat = (self._number(word) for row in words for word in row)
        return lengths, np.fromiter(flat, np.uint64, int(lengths.sum()))

    def _number(self, word: str) -> int:
        number = self._numbers.get(word)
        if number is None:
            data = word.encode("utf-8", "surrogatepass")
            number = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
            self._numbers[word] = number
        return number


def _windows(lengths: I64, units: U64, size: int) -> tuple[I64, U64]:
    """The number of windows of each text, and a hash of HASH_BITS bits per window."""
    padded = np.concatenate([units + np.uint64(1), np.zeros(size, np.uint64)])
    ends = np.cumsum(lengths)
    left = np.repeat(ends, lengths) - np.arange(len(units))  # units up to the end of the text
    hashes = np.zeros(len(units), np.uint64)
    for place in range(size):
        inside = np.where(left > place, padded[place : place + len(units)], np.uint64(0))
        hashes = (hashes ^ inside) * _ODD
        hashes ^= hashes >> np.uint64(31)
    hashes = (hashes * _ODD) >> np.uint64(64 - HASH_BITS)
    first = np.zeros(len(units), dtype=bool)
    first[(ends - lengths)[lengths > 0]] = True
    whole = (left >= size) | first
    counts = np.maximum(lengths - size + 1, np.minimum(lengths, 1))
    return counts, hashes[whole]

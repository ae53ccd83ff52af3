"""Perceptual hashes of images: those of other programs as codes, and the difference hash."""

from __future__ import annotations

import string
import warnings
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._checks import check_integer
from .._types import U8
from ..errors import InvalidInputError

SUFFIXES = frozenset([".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"])
MOST_BITS = 4096


def from_hashes(hashes: Iterable[Any], bits: int | None = None) -> U8:
    """Codes ``(n, n_bytes)`` of perceptual hashes, whose bits are the symbols; for `near_pairs` without a layout.

    Parameters
    ----------
    hashes
        Integers; hexadecimal strings, such as those of PDQ; or objects with a boolean array ``hash``, such as those of
        the package imagehash. An object of imagehash, its string, and that string as an integer give the same code.
    bits
        The length of a hash, a multiple of 8, at most 4096. Default None: 64 for integers, else the length of the
        first hash.

    Examples
    --------
    >>> from rankhash import from_hashes, near_pairs
    >>> near_pairs(from_hashes(["ffd8e0c0c0e0f8fe", "0000000000000000", "ffd8e0c0c0e0f8ff"]), radius=4).to_arrays()
    Pairs(first=array([0]), second=array([2]), distances=array([1.], dtype=float32))
    """
    values = list(hashes)
    if not values:
        return np.empty((0, check_integer("bits", bits or 64, 8, MOST_BITS) // 8), np.uint8)
    length = check_integer("bits", _length(values[0], 0) if bits is None else bits, 8, MOST_BITS)
    if length % 8:
        raise InvalidInputError(f"hashes must have a multiple of 8 bits, got {length}")
    rows = b"".join(_number(value, place, length).to_bytes(length // 8, "little") for place, value in enumerate(values))
    return np.frombuffer(rows, np.uint8).reshape(len(values), length // 8)


def _length(value: Any, place: int) -> int:
    if isinstance(value, str):
        return 4 * len(_digits(value))
    return 64 if isinstance(value, (int, np.integer)) else int(_bits_of(value, place).size)


def _number(value: Any, place: int, length: int) -> int:
    """The hash as a number below 2^length."""
    number, size = 0, length
    if isinstance(value, str):
        digits = _digits(value)
        if not digits or set(digits) - set(string.hexdigits):
            raise InvalidInputError(f"hash {place} is not hexadecimal: {value!r:.80}")
        number, size = int(digits, 16), 4 * len(digits)
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = int(value)
    else:
        flags = _bits_of(value, place)
        number, size = int("".join("1" if flag else "0" for flag in flags.ravel()) or "0", 2), flags.size
    if size != length or not 0 <= number < 1 << length:
        raise InvalidInputError(f"hash {place} does not have {length} bits: {value!s:.80}")
    return number


def _digits(value: str) -> str:
    return value.strip().lower().removeprefix("0x")


def _bits_of(value: Any, place: int) -> Any:
    flags = getattr(value, "hash", None)
    if not isinstance(flags, np.ndarray) or flags.dtype != bool:
        raise InvalidInputError(
            f"hashes must be integers, hexadecimal strings or objects of imagehash, but hash {place} is "
            f"{type(value).__name__}"
        )
    return flags


class ImageHashes(NamedTuple):
    """The codes of the readable images, and the errors of the others."""

    paths: list[Path]
    codes: U8
    """(n, n_bytes)"""
    unreadable: list[tuple[Path, str]]


def hash_images(paths: Iterable[str | PathLike[str]], *, size: int = 8) -> ImageHashes:
    """The difference hashes of image files: size² bits, each of which compares neighbouring pixels of a small copy.

    A file that cannot be read is listed with the reason. It needs the extra ``images`` (Pillow). The bits are those of
    ``imagehash.dhash`` with the same size.

    Parameters
    ----------
    paths
        Image files.
    size
        Rows and columns of the small copy, a multiple of 4 from 4 to 64; default 8: codes of 64 bits.
    """
    if check_integer("size", size, 4, 64) % 4:
        raise InvalidInputError(f"size must be a multiple of 4, got {size}")
    pillow_image()
    read: list[Path] = []
    rows, unreadable = [], []
    for path in map(Path, paths):
        try:
            rows.append(difference_hash(path, size))
            read.append(path)
        except Exception as error:  # Pillow raises many kinds of errors for damaged files, and one for huge images
            unreadable.append((path, f"{type(error).__name__}: {error}"))
    codes = np.stack(rows) if rows else np.empty((0, size * size // 8), np.uint8)
    return ImageHashes(read, codes, unreadable)


def difference_hash(path: Path, size: int) -> U8:
    """The code of one image file."""
    Image = pillow_image()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(path) as image:
            small = image.convert("L").resize((size + 1, size), Image.Resampling.LANCZOS)
    points = np.asarray(small)
    flags = (points[:, 1:] > points[:, :-1]).ravel()
    return np.packbits(flags[::-1], bitorder="little")


def pillow_image() -> Any:
    """Pillow's module ``Image``; Pillow is an extra."""
    try:
        from PIL import Image
    except ImportError as error:
        raise InvalidInputError(
            "images need Pillow: pip install 'rankhash[images]' (in a checkout: '.[images]')"
        ) from error
    return Image

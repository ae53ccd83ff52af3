"""Small grey images as data URLs, for a page that needs no other file."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from .._types import U8, Array


def data_url(pixels: Array) -> str:
    """The data URL of a PNG of grey values ``(height, width)``: 0 is white, the largest value is black.

    >>> data_url(np.eye(2))[:22]
    'data:image/png;base64,'
    """
    values = np.asarray(pixels, np.float64)
    top = values.max()
    grey = (255 - 255 * np.clip(values / top if top > 0 else values, 0, 1)).astype(np.uint8)
    return "data:image/png;base64," + base64.b64encode(png(grey)).decode("ascii")


def png(grey: U8) -> bytes:
    """The PNG file of an image with one byte per pixel."""
    height, width = grey.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), grey], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in parts)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

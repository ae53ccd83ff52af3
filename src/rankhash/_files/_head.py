"""The head of a file: its contents and the byte ranges of its tensors, checked before memory is allocated."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..errors import FileFormatError
from ._format import DTYPES, KEY, MAX_HEADER_BYTES, MAX_TENSOR_BYTES, VERSION, digest_of


@dataclass(frozen=True)
class Entry:
    """One tensor of a file: name, dtype, shape, and its byte range in the data part."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def read_head(file: BinaryIO, n_bytes: int) -> tuple[dict[str, Any], list[Entry], int]:
    """The contents, the entries of the tensors and the offset of the data, checked against the length of the file."""
    length = int.from_bytes(file.read(8), "little")
    if n_bytes < 10 or length > min(n_bytes - 8, MAX_HEADER_BYTES) or (8 + length) % 8:
        raise FileFormatError("is not a rankhash file, or is cut off")
    head = _parse(file.read(length))
    metadata = head.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise FileFormatError("is not a rankhash file")
    contents = _parse(metadata[KEY])
    entries = [_entry(name, fields) for name, fields in head.items()]
    _check_places(entries, n_bytes - 8 - length)
    return contents, entries, 8 + length


def check_contents(contents: dict[str, Any], entries: list[Entry], kind: str) -> None:
    """Check version, checksum and kind; afterwards the contents are those that were written."""
    version = contents.get("version")
    if type(version) is not int or version != VERSION:
        raise FileFormatError(
            f"has format version {str(version)[:20]}, but this rankhash reads version {VERSION}; upgrade rankhash"
        )
    digest = contents.pop("digest", None)
    if not _is_complete(contents, entries) or not digest or digest != _digest_read(contents, entries):
        raise FileFormatError("is damaged: the checksum of its header does not match")
    if contents["kind"] != kind:
        raise FileFormatError(f"holds a rankhash {contents['kind']}, and a rankhash {kind} was expected")


def _parse(text: bytes | str) -> dict[str, Any]:
    try:
        value = json.loads(text.decode() if isinstance(text, bytes) else text)
    except (ValueError, RecursionError):
        raise FileFormatError("is not a rankhash file: its header cannot be read") from None
    if not isinstance(value, dict):
        raise FileFormatError("is not a rankhash file")
    return value


def _entry(name: str, fields: Any) -> Entry:
    broken = FileFormatError(f"is damaged: its header does not describe the tensor {name[:100]!r}")
    if not isinstance(fields, dict) or fields.keys() != {"dtype", "shape", "data_offsets"}:
        raise broken
    dtype, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    if not (isinstance(dtype, str) and dtype in DTYPES and _are_sizes(shape) and _are_sizes(offsets)):
        raise broken
    item = DTYPES[dtype].itemsize
    if len(shape) > 32 or math.prod(max(size, 1) for size in shape) * item > MAX_TENSOR_BYTES:
        raise broken
    if len(offsets) != 2 or offsets[1] - offsets[0] != math.prod(shape) * item or offsets[0] % item:
        raise broken
    return Entry(name, dtype, tuple(shape), offsets[0], offsets[1])


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(v) is int and 0 <= v <= MAX_TENSOR_BYTES for v in values)


def _check_places(entries: list[Entry], n_bytes: int) -> None:
    """Check that the tensors fill the data part without gaps, overlaps or remainder."""
    position = 0
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != position:
            raise FileFormatError("is damaged: its tensors overlap or leave gaps")
        position = entry.end
    if position != n_bytes:
        raise FileFormatError(f"is damaged or cut off: it should hold {position} bytes of data, but holds {n_bytes}")


def _is_complete(contents: dict[str, Any], entries: list[Entry]) -> bool:
    return (
        contents.keys() == {"version", "kind", "header", "sha256"}
        and isinstance(contents["kind"], str)
        and isinstance(contents["header"], dict)
        and isinstance(contents["sha256"], dict)
        and contents["sha256"].keys() == {entry.name for entry in entries}
    )


def _digest_read(contents: dict[str, Any], entries: list[Entry]) -> str:
    """The expected digest; empty if the JSON holds values that are never written, such as NaN."""
    try:
        return digest_of(contents, {entry.name: (entry.dtype, entry.shape) for entry in entries})
    except (ValueError, RecursionError):
        return ""

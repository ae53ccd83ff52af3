"""Images of items: files of one folder, listed when the server starts.

An item names its image in its metadata. The name is only looked up in that list and never becomes part of a path.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..collection import Item
from ._errors import ApiError

TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
MAX_BYTES = 32 << 20
"""Largest image that is served."""


def list_images(folder: str | None) -> dict[str, Path]:
    """The image files of a folder by name; symbolic links and subfolders are skipped."""
    if folder is None:
        return {}
    with os.scandir(folder) as entries:
        return {
            entry.name: Path(entry.path)
            for entry in entries
            if os.path.splitext(entry.name)[1].lower() in TYPES and entry.is_file(follow_symlinks=False)
        }


def read_image(known: dict[str, Path], item: Item) -> tuple[bytes, str]:
    """The image of an item, and its media type."""
    name = (item.metadata or {}).get("image")
    path = known.get(name) if isinstance(name, str) else None
    if path is None:
        raise ApiError(404, "not_found", f"the item {item.id!r} has no image on this server", "see --images")
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        raise ApiError(404, "not_found", f"the image of the item {item.id!r} no longer exists") from None
    if len(data) > MAX_BYTES:
        raise ApiError(404, "not_found", f"the image of the item {item.id!r} is larger than {MAX_BYTES} bytes")
    return data, TYPES[path.suffix.lower()]

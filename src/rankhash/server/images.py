"""Pictures of items: files of one folder, listed when the server starts.

The name of a file comes from an item's metadata and is only compared with the names of that list.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..collection import Item
from .errors import ApiError

TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
MAX_BYTES = 32 << 20


def list_images(folder: str | None) -> dict[str, Path]:
    """The pictures of a folder by their names; links and folders are passed over."""
    if folder is None:
        return {}
    with os.scandir(folder) as entries:
        return {
            entry.name: Path(entry.path)
            for entry in entries
            if os.path.splitext(entry.name)[1].lower() in TYPES and entry.is_file(follow_symlinks=False)
        }


def read_image(known: dict[str, Path], item: Item) -> tuple[bytes, str]:
    """The picture of an item, and its media type."""
    name = (item.metadata or {}).get("image")
    path = known.get(name) if isinstance(name, str) else None
    if path is None:
        raise ApiError(404, "not_found", f"the item {item.id!r} has no picture here", "see --images")
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        raise ApiError(404, "not_found", f"the picture of the item {item.id!r} is gone") from None
    if len(data) > MAX_BYTES:
        raise ApiError(404, "not_found", f"the picture of the item {item.id!r} is larger than {MAX_BYTES} bytes")
    return data, TYPES[path.suffix.lower()]

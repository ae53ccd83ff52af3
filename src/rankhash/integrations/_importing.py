"""A new collection from blocks of items, complete or not created at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from ..collection import Collection
from ..readers import Block
from ._documents import PathLike


def collected(blocks: Iterable[Block], path: PathLike | None, metric: str) -> Collection:
    """A new collection of all blocks; on an error its file is removed.

    Parameters
    ----------
    blocks
        The items.
    path
        The file to make, which must not exist; None for a collection in memory.
    metric
        ``"cosine"``, ``"euclidean"`` or ``"dot"``.
    """
    collection = Collection.create(path, metric=metric)
    try:
        for block in blocks:
            collection.add(block.vectors, block.ids, block.metadata)
    except BaseException:
        collection.close()
        if path is not None:
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(os.fspath(path) + suffix)
        raise
    return collection

"""Shared parts of the distributed indexes: loading, searching and saving shards on the workers of a Dask cluster."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from ...errors import EngineError, InvalidInputError
from ...neighbors import Neighbors
from ._cluster import ClientLike, Cluster, connect
from ._filters import cut
from ._folder import Manifest, Shape, as_folder, head_of, remove_shards, save_shard, shard_name, write_manifest
from ._loading import Shards, settle
from ._searching import ChosenShard, search_all
from ._shards import ShardSearch, resubmittable

if TYPE_CHECKING:
    from typing_extensions import Self


class ShardedIndex:
    """Shards of one shape on the workers of a cluster."""

    def __init__(self, cluster: Cluster, shape: Shape, shards: Shards, *, source: Path | None, verbose: bool):
        self._cluster = cluster
        self._shape = shape
        self._shards = shards
        self._source = source
        self._verbose = verbose

    @classmethod
    def _load(
        cls,
        load: Callable[[Cluster], list[Future]],
        shape: Shape,
        *,
        has_ids: bool | None = None,
        source: Path | None = None,
        client: ClientLike,
        timeout: float,
        verbose: bool,
    ) -> Self:
        cluster = connect(client, timeout=timeout)
        try:
            with cluster.plain_errors("loading shards"):
                shards = settle(cluster, load(cluster), has_ids=has_ids, shown=verbose)
        except BaseException:
            cluster.close()
            raise
        return cls(cluster, shape, shards, source=source, verbose=verbose)

    # -- facts -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of codes or vectors."""
        return sum(span.size for span in self._shards.spans)

    @property
    def n_shards(self) -> int:
        """The number of shards that are not empty."""
        return len(self._shards.futures)

    @property
    def nbytes(self) -> int:
        """The memory of all shards together, in bytes."""
        return self._shards.n_bytes

    # -- search ----------------------------------------------------------------------------------------------------

    def _answer(
        self, method: str, queries: NDArray[Any], limit: Any, options: dict[str, Any], filter: Any, *, packed: bool
    ) -> list[Any]:
        """The answers to the batches of queries, in order; empty without queries or without shards.

        ``packed`` says that shards take masks as bitmaps.
        """
        chosen = self._chosen(filter, packed)
        return search_all(self._cluster, chosen, ShardSearch(method, queries, limit, options), shown=self._verbose)

    def _chosen(self, filter: Any, packed: bool) -> list[ChosenShard]:
        """The shards that may hold an answer, each with its filter and offset."""
        shards = self._shards
        if filter is None:
            return [(future, None, span.offset) for future, span in zip(shards.futures, shards.spans, strict=True)]
        chosen = cut(filter, shards.spans, ascending=shards.ascending, packed=packed)
        kept = [(f, c, s.offset) for f, c, s in zip(shards.futures, chosen, shards.spans, strict=True) if c is not None]
        if not kept:
            return []
        with self._cluster.plain_errors("searching"):
            filters = self._cluster.client.map(resubmittable, [c for _, c, _ in kept], pure=False)
        return [(future, sent, offset) for (future, _, offset), sent in zip(kept, filters, strict=True)]

    # -- files -----------------------------------------------------------------------------------------------------

    def save(self, folder: Any) -> None:
        """Write the index to a folder that all workers share: one file per shard, and a manifest.

        Workers write their own shards, and the manifest is replaced last. Until then the folder holds its previous
        index, which is removed afterwards: indexes that were opened from it cannot load their shards again. Only one
        process may save to a folder at a time.
        """
        place = as_folder(folder)
        if place == self._source:
            raise InvalidInputError(f"this index was opened from {folder} and needs its files; save it elsewhere")
        place.mkdir(parents=True, exist_ok=True)
        version = secrets.token_hex(8)
        try:
            heads = self._save_shards(place, version)
            sizes = np.array([span.size for span in self._shards.spans], np.int64)
            table = np.frombuffer(b"".join(heads), np.uint8).reshape(len(heads), 32)
            write_manifest(place, Manifest(self._shape, version, self._shards.has_ids, sizes, table))
        except BaseException:
            remove_shards(place, only=version)
            raise

    def _save_shards(self, place: Path, version: str) -> list[bytes]:
        paths = [str(place / shard_name(version, i)) for i in range(self.n_shards)]
        with self._cluster.plain_errors("saving shards"):
            saved = self._cluster.client.map(save_shard, self._shards.futures, paths, pure=False)
        self._cluster.follow(saved, "saving shards", shown=self._verbose)
        heads: list[bytes] = self._cluster.gather(saved, "saving shards")
        for path, head in zip(paths, heads, strict=True):
            if not Path(path).exists() or head_of(path) != head:
                raise EngineError(
                    f"a worker wrote {path}, but it is not seen here; save to a disk that all workers share"
                )
        return heads

    def close(self) -> None:
        """Release the shards on the workers, and end the cluster if it was started for this index."""
        self._shards = Shards([], [], 0, self._shards.has_ids, True)
        self._cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def joined(parts: list[Any], nothing: Neighbors) -> Iterator[NDArray[Any]]:
    """The concatenated answers, or that of an empty index if there are none."""
    if not parts:
        yield from nothing
    else:
        yield from (np.concatenate(arrays) for arrays in zip(*parts, strict=True))

"""An index whose vectors are distributed over the workers of a Dask cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import Future
from numpy.typing import ArrayLike

from ...errors import InvalidInputError, LayoutMismatchError
from ...neighbors import Neighbors
from ...vector_index import VectorIndex
from ...vectors import as_vectors
from ._cluster import TIMEOUT, ClientLike, Cluster
from ._folder import VectorShape, as_folder, read_manifest
from ._loading import Shards, array_shards, check_vectors, file_shards, files_of, folder_shards
from ._sharded import ShardedIndex, joined

if TYPE_CHECKING:
    import dask.array as da
    from typing_extensions import Self


class DaskVectorIndex(ShardedIndex):
    """Vectors on the workers of a Dask cluster, one [`VectorIndex`][rankhash.VectorIndex] per shard.

    ``from_array``, ``from_files`` and ``open`` make an index, which never changes. The first two take an empty
    ``VectorIndex``: every shard gets its parameters, and learns for itself unless that index was fitted before. All
    three take ``client``, ``timeout`` and ``verbose`` as [`DaskIndex`][rankhash.engines.dask.DaskIndex] does, and like
    there the shards of a lost worker are loaded and searched again.

    Answers are merged by true distance and id. Each shard finds the fraction ``recall`` of its own nearest, so that the
    whole finds the same fraction of all.

    Examples
    --------
    See the guide: ``docs/guide/dask.md``.
    """

    def __init__(self, cluster: Cluster, shape: VectorShape, shards: Shards, *, source: Path | None, verbose: bool):
        super().__init__(cluster, shape, shards, source=source, verbose=verbose)
        self._vectors = shape

    # -- making one ------------------------------------------------------------------------------------------------

    @classmethod
    def from_array(
        cls,
        vectors: da.Array,
        like: VectorIndex,
        *,
        ids: Any = None,
        client: ClientLike = None,
        timeout: float = TIMEOUT,
        verbose: bool = True,
    ) -> Self:
        """An index with one shard per block of rows of a Dask array of vectors ``(n, d)``.

        ``like`` is an empty index. ``ids`` are unique non-negative 64-bit integers ``(n,)``, a Dask array or an array.
        Default None: a vector's id is its row. ``client``, ``timeout`` and ``verbose`` as in
        [`DaskIndex`][rankhash.engines.dask.DaskIndex].
        """
        check_vectors(vectors)
        shape = _shape(like, int(vectors.shape[1]))

        def load(cluster: Cluster) -> list[Future]:
            return array_shards(cluster, vectors, like, ids)

        return cls._load(load, shape, has_ids=ids is not None, client=client, timeout=timeout, verbose=verbose)

    @classmethod
    def from_files(
        cls,
        paths: Any,
        like: VectorIndex,
        *,
        client: ClientLike = None,
        timeout: float = TIMEOUT,
        verbose: bool = True,
    ) -> Self:
        """An index with one shard per ``.npy`` file of vectors ``(n, d)``; a vector's id is its place among all.

        ``paths`` are files, or a folder whose files are sorted by name. All workers must see them. ``like`` is an empty
        index; the other parameters as in [`DaskIndex`][rankhash.engines.dask.DaskIndex].
        """
        files = files_of(paths, (".npy",))
        shape = _shape(like, _n_columns(files))

        def load(cluster: Cluster) -> list[Future]:
            return file_shards(cluster, files, like)

        return cls._load(load, shape, has_ids=False, client=client, timeout=timeout, verbose=verbose)

    @classmethod
    def open(
        cls,
        folder: Any,
        *,
        mmap: bool = False,
        verify: bool = True,
        client: ClientLike = None,
        timeout: float = TIMEOUT,
        verbose: bool = True,
    ) -> Self:
        """The index that ``save`` wrote, on any cluster whose workers see the folder.

        With ``mmap`` (default False) vectors and codes stay in the files; ``verify`` (default True) compares all
        checksums while loading. The other parameters as in [`DaskIndex`][rankhash.engines.dask.DaskIndex].
        """
        place = as_folder(folder)
        manifest = read_manifest(place)
        shape = manifest.shape
        if not isinstance(shape, VectorShape):
            raise LayoutMismatchError(f"{folder} holds codes, not vectors; open it with DaskIndex")

        def load(cluster: Cluster) -> list[Future]:
            return folder_shards(cluster, place, manifest, mmap=mmap, verify=verify)

        how: dict[str, Any] = {"client": client, "timeout": timeout, "verbose": verbose}
        return cls._load(load, shape, has_ids=manifest.has_ids, source=place, **how)

    # -- facts -----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        shape = self._vectors
        return (
            f"DaskVectorIndex({len(self)} vectors of {shape.n_features} dimensions, metric={shape.metric!r}, "
            f"in {self.n_shards} shards)"
        )

    @property
    def metric(self) -> str:
        """The metric: ``"cosine"``, ``"euclidean"`` or ``"dot"``."""
        return self._vectors.metric

    @property
    def n_features(self) -> int:
        """Dimensions of the vectors."""
        return self._vectors.n_features

    # -- search ----------------------------------------------------------------------------------------------------

    def search(
        self,
        Q: Any,
        k: int = 10,
        *,
        recall: float | None = None,
        filter: ArrayLike | None = None,
        exact: bool = False,
        n_threads: int = 1,
    ) -> Neighbors:
        """The k nearest vectors of each query, by true distance, of equal distances the smaller id first.

        Parameters are those of [`VectorIndex.search`][rankhash.VectorIndex.search]; a boolean mask needs shards whose
        ids do not overlap. ``n_threads`` (default 1) is the number of threads per shard. A call takes some tens of
        milliseconds even for a single query, so search many queries in one call.
        """
        options: dict[str, Any] = {"recall": recall, "exact": exact, "n_threads": n_threads}
        queries = as_vectors(Q, n_features=self.n_features, name="Q", owner="DaskVectorIndex")
        nothing = VectorIndex(self.metric).search(queries, k, **options)
        chosen = None if filter is None else np.asarray(filter)
        if chosen is not None and chosen.dtype == np.uint8:
            chosen = chosen.astype(np.int64)  # ids: an index of vectors takes no bitmaps
        found = self._answer("search", queries, k, options, chosen, packed=False)
        return Neighbors(*joined(found, nothing))


def _shape(like: Any, n_features: int) -> VectorShape:
    if not isinstance(like, VectorIndex) or len(like):
        raise InvalidInputError(f"shards need an empty VectorIndex, whose parameters they get, and not {like!r}")
    if like.n_features not in (None, n_features):
        raise InvalidInputError(f"the index was fitted to {like.n_features} dimensions, but vectors have {n_features}")
    return VectorShape(like.metric, n_features)


def _n_columns(files: list[Path]) -> int:
    """The dimension of the vectors of all files, by their headers."""
    shapes = {file: np.load(file, mmap_mode="r", allow_pickle=False).shape for file in files}
    n_columns = next(iter(shapes.values()))[1:]
    for file, shape in shapes.items():
        if len(shape) != 2 or not shape[1] or shape[1:] != n_columns:
            raise InvalidInputError(f"{file} must hold vectors (n, d), of one dimension in all files, got {shape}")
    return int(n_columns[0])

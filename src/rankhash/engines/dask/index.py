"""An index whose codes are distributed over the workers of a Dask cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import Future
from numpy.typing import ArrayLike

from ...codes import CodeLayout
from ...errors import LayoutMismatchError
from ...index import FlatIndex
from ...neighbors import Neighbors, RadiusNeighbors
from .._checks import check_layout
from ._cluster import TIMEOUT, ClientLike, Cluster
from ._folder import as_folder, read_manifest
from ._loading import Shards, array_shards, check_codes, file_shards, files_of, folder_shards
from ._sharded import ShardedIndex, joined

if TYPE_CHECKING:
    import dask.array as da
    from typing_extensions import Self


class DaskIndex(ShardedIndex):
    """Codes on the workers of a Dask cluster, searched exactly, with the answers of [`FlatIndex`][rankhash.FlatIndex].

    ``from_array``, ``from_files`` and ``open`` make an index, which never changes. All three take the parameters

    - ``client``: a client, or the address of a scheduler. Default None: the current client. Without a current client,
      a cluster of local processes is started, which ``close`` or the end of a ``with`` block ends.
    - ``timeout``: seconds to wait for the scheduler, for its first worker, and for a new worker after all workers
      were lost. Default 30.
    - ``verbose``: whether long operations show a progress bar on a terminal. Default True.

    The shards of a lost worker are loaded again by other workers and searched again: the answer is late but complete.
    Their source (files, or what the Dask array is made of) must still exist.

    Examples
    --------
    See the guide: ``docs/guide/dask.md``.
    """

    def __init__(self, cluster: Cluster, shape: CodeLayout, shards: Shards, *, source: Path | None, verbose: bool):
        super().__init__(cluster, shape, shards, source=source, verbose=verbose)
        self._empty = FlatIndex(shape)

    # -- making one ------------------------------------------------------------------------------------------------

    @classmethod
    def from_array(
        cls,
        codes: da.Array,
        layout: CodeLayout,
        *,
        ids: Any = None,
        client: ClientLike = None,
        timeout: float = TIMEOUT,
        verbose: bool = True,
    ) -> Self:
        """An index with one shard per block of rows of a Dask array of codes ``(n, n_bytes)``.

        Parameters
        ----------
        codes
            The packed codes.
        layout
            The hasher's ``layout_``.
        ids
            Unique non-negative 64-bit integers ``(n,)``, a Dask array or an array; they take 8 bytes each. Default
            None: the id of a code is its row.
        client, timeout, verbose
            See the class; the defaults are None, 30 and True.
        """
        check_codes(codes, check_layout(layout))

        def load(cluster: Cluster) -> list[Future]:
            return array_shards(cluster, codes, layout, ids)

        return cls._load(load, layout, client=client, timeout=timeout, verbose=verbose)

    @classmethod
    def from_files(
        cls,
        paths: Any,
        layout: CodeLayout,
        *,
        client: ClientLike = None,
        timeout: float = TIMEOUT,
        verbose: bool = True,
    ) -> Self:
        """An index with one shard per file.

        A ``.npy`` file holds codes ``(n, n_bytes)``. A ``.parquet`` file has them as bytes in the column ``code``, and
        may have integer ids in the column ``id``. All workers must see the files.

        Parameters
        ----------
        paths
            Files, or a folder whose files are sorted by name.
        layout
            The hasher's ``layout_``.
        client, timeout, verbose
            See the class; the defaults are None, 30 and True.
        """
        check_layout(layout)
        files = files_of(paths)

        def load(cluster: Cluster) -> list[Future]:
            return file_shards(cluster, files, layout)

        return cls._load(load, layout, client=client, timeout=timeout, verbose=verbose)

    @classmethod
    def open(
        cls,
        folder: Any,
        *,
        layout: CodeLayout | None = None,
        mmap: bool = False,
        verify: bool = True,
        client: ClientLike = None,
        timeout: float = TIMEOUT,
        verbose: bool = True,
    ) -> Self:
        """The index that ``save`` wrote, on any cluster whose workers see the folder.

        Parameters
        ----------
        folder
            The folder.
        layout
            The expected layout, fingerprint included. Default None: any layout.
        mmap
            Whether the codes stay in the files, memory-mapped. Default False.
        verify
            Whether to verify all checksums while loading. Default True.
        client, timeout, verbose
            See the class; the defaults are None, 30 and True.
        """
        place = as_folder(folder)
        manifest = read_manifest(place)
        found = manifest.shape
        if not isinstance(found, CodeLayout):
            raise LayoutMismatchError(f"{folder} holds vectors, not codes; open it with DaskVectorIndex")
        if layout is not None and layout != found:
            raise LayoutMismatchError(f"{folder} holds codes of {found}, and {layout} was expected")

        def load(cluster: Cluster) -> list[Future]:
            return folder_shards(cluster, place, manifest, mmap=mmap, verify=verify)

        return cls._load(load, found, source=place, client=client, timeout=timeout, verbose=verbose)

    # -- facts -----------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        layout = self.layout
        return (
            f"DaskIndex({len(self)} codes of {layout.n_symbols} symbols of arity {layout.arity} "
            f"in {self.n_shards} shards)"
        )

    @property
    def layout(self) -> CodeLayout:
        """The layout of the codes."""
        return self._empty.layout

    # -- search ----------------------------------------------------------------------------------------------------

    def search(
        self,
        codes: ArrayLike,
        k: int,
        *,
        weights: ArrayLike | None = None,
        filter: ArrayLike | None = None,
        n_threads: int = 1,
    ) -> Neighbors:
        """The k nearest codes of each query, as [`FlatIndex.search`][rankhash.FlatIndex.search] finds them.

        A call takes some tens of milliseconds even for a single query, so search many queries in one call.

        Parameters
        ----------
        codes, k, weights
            As in ``FlatIndex.search``; the default of ``weights`` is None.
        filter
            As in ``FlatIndex.search``; default None. A boolean mask or bitmap needs shards whose ids do not overlap.
        n_threads
            Number of threads per shard; default 1. A worker searches as many shards at a time as it has threads.
        """
        options: dict[str, Any] = {"n_threads": n_threads, "weights": weights}
        nothing = self._empty.search(codes, k, **options)
        found = self._answer("search", np.asarray(codes), k, options, filter, packed=True)
        return Neighbors(*joined(found, nothing))

    def search_scores(
        self, score_tables: ArrayLike, k: int, *, filter: ArrayLike | None = None, n_threads: int = 1
    ) -> Neighbors:
        """The k codes with the smallest sums of scores; ``filter`` and ``n_threads`` as in ``search``."""
        queries = np.asarray(score_tables, np.float32)
        nothing = self._empty.search_scores(queries, k, n_threads=n_threads)
        found = self._answer("search_scores", queries, k, {"n_threads": n_threads}, filter, packed=True)
        return Neighbors(*joined(found, nothing))

    def search_radius(
        self,
        codes: ArrayLike,
        radius: float,
        *,
        weights: ArrayLike | None = None,
        filter: ArrayLike | None = None,
        n_threads: int = 1,
    ) -> RadiusNeighbors:
        """All codes within ``radius`` of each query; other parameters and their defaults as in ``search``."""
        options: dict[str, Any] = {"n_threads": n_threads, "weights": weights}
        found = [self._empty.search_radius(np.asarray(codes)[:0], radius, **options)]
        found += self._answer("search_radius", self.layout.check(codes), radius, options, filter, packed=True)
        if len(found) == 1:
            return self._empty.search_radius(codes, radius, **options)
        counts = np.concatenate([np.diff(part.offsets) for part in found])
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        ids = np.concatenate([part.ids for part in found])
        return RadiusNeighbors(offsets, ids, np.concatenate([part.distances for part in found]))

"""Codes that are spread over the workers of a Dask cluster: :class:`DaskIndex`."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from distributed import Future
from numpy.typing import ArrayLike, NDArray

from ...codes import CodeLayout
from ...errors import EngineError, InvalidInputError, LayoutMismatchError
from ...index import FlatIndex
from ...neighbors import Neighbors, RadiusNeighbors
from ._cluster import TIMEOUT, ClientLike, Cluster, connect
from ._filters import cut
from ._folder import Manifest, as_folder, head_of, read_manifest, remove_shards, save_shard, shard_name, write_manifest
from ._loading import Shards, array_shards, check_codes, file_shards, files_of, folder_shards, settle
from ._searching import Asked, search_all
from ._shards import Question, same

if TYPE_CHECKING:
    import dask.array as da
    from typing_extensions import Self


class DaskIndex:
    """Codes on the workers of a Dask cluster, searched exactly as :class:`~rankhash.FlatIndex` does.

    Made by :meth:`from_array`, :meth:`from_files` or :meth:`open`, and never changed. All take ``client``: a client,
    the address of a scheduler, or None for the current client; if there is none, a cluster of local processes is
    started and ended by :meth:`close` or at the end of a ``with`` block. ``timeout`` is how many seconds to wait for
    the scheduler, for its first worker, and for another one if all are lost; ``verbose`` whether long work shows a
    progress bar on a terminal.

    A worker that dies takes its shards with it; they are loaded again elsewhere and asked again, so that answers are
    late, but whole. For that their source (files, or what the Dask array is made of) must still be there.

    Examples
    --------
    See the guide: ``docs/guide/dask.md``.
    """

    def __init__(self, cluster: Cluster, layout: CodeLayout, shards: Shards, *, source: Path | None, verbose: bool):
        self._cluster = cluster
        self._empty = FlatIndex(layout)
        self._shards = shards
        self._source = source
        self._verbose = verbose

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
        """An index with a shard for every block of rows of a Dask array of codes ``(n, n_bytes)``.

        Without ``ids`` a code's id is its row. ``ids`` are non-negative 64-bit integers, no two alike, as a Dask array
        ``(n,)`` or an array; they cost 8 bytes each. ``layout`` is the hasher's ``layout_``.
        """
        _check_layout(layout)
        check_codes(codes, layout)

        def load(cluster: Cluster) -> list[Future]:
            return array_shards(cluster, codes, layout, ids)

        return cls._load(load, layout, None, client, timeout, verbose)

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
        """An index with a shard for every file: paths, or a folder whose files are taken in the order of their names.

        ``.npy`` holds codes ``(n, n_bytes)``. ``.parquet`` has them as bytes in the column ``code``, and integers in
        the column ``id`` if that is there. All workers must see the files.
        """
        _check_layout(layout)
        files = files_of(paths)

        def load(cluster: Cluster) -> list[Future]:
            return file_shards(cluster, files, layout)

        return cls._load(load, layout, None, client, timeout, verbose)

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
        """The index that :meth:`save` wrote, on any cluster whose workers see the folder.

        ``layout``, if given, must be that of the saved codes, fingerprint included. With ``mmap`` codes stay in the
        files; ``verify`` compares all checksums while loading.
        """
        place = as_folder(folder)
        manifest = read_manifest(place)
        if layout is not None and layout != manifest.layout:
            raise LayoutMismatchError(f"{folder} holds codes of {manifest.layout}, and {layout} was expected")

        def load(cluster: Cluster) -> list[Future]:
            return folder_shards(cluster, place, manifest, mmap=mmap, verify=verify)

        return cls._load(load, manifest.layout, place, client, timeout, verbose)

    @classmethod
    def _load(
        cls, load: Any, layout: CodeLayout, source: Path | None, client: ClientLike, timeout: float, verbose: bool
    ) -> Self:
        cluster = connect(client, timeout=timeout)
        try:
            with cluster.plain_errors("loading shards"):
                shards = settle(cluster, load(cluster), shown=verbose)
        except BaseException:
            cluster.close()
            raise
        return cls(cluster, layout, shards, source=source, verbose=verbose)

    # -- facts -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many codes can be found."""
        return sum(span.size for span in self._shards.spans)

    def __repr__(self) -> str:
        layout = self.layout
        return (
            f"DaskIndex({len(self)} codes of {layout.n_symbols} symbols of arity {layout.arity} "
            f"in {self.n_shards} shards)"
        )

    @property
    def layout(self) -> CodeLayout:
        """The shape of the codes."""
        return self._empty.layout

    @property
    def n_shards(self) -> int:
        """How many shards hold codes."""
        return len(self._shards.futures)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the shards take on all workers together."""
        return self._shards.n_bytes

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
        """The k nearest codes of each query code: see :meth:`rankhash.FlatIndex.search`.

        Give many queries at once: a call costs some tens of milliseconds however few they are. A boolean mask or
        bitmap as ``filter`` needs shards whose ids do not overlap. ``n_threads`` are the threads of each shard's
        search, of which a worker runs as many at once as it has threads of its own.
        """
        options: dict[str, Any] = {"n_threads": n_threads, "weights": weights}
        nothing = self._empty.search(codes, k, **options)
        found = self._answer("search", np.asarray(codes), k, options, filter)
        return Neighbors(*_joined(found, nothing))

    def search_tables(
        self, tables: ArrayLike, k: int, *, filter: ArrayLike | None = None, n_threads: int = 1
    ) -> Neighbors:
        """The k codes with the smallest sums of table entries: see :meth:`rankhash.FlatIndex.search_tables`."""
        queries = np.asarray(tables, np.float32)
        nothing = self._empty.search_tables(queries, k, n_threads=n_threads)
        found = self._answer("search_tables", queries, k, {"n_threads": n_threads}, filter)
        return Neighbors(*_joined(found, nothing))

    def search_radius(
        self,
        codes: ArrayLike,
        radius: float,
        *,
        weights: ArrayLike | None = None,
        filter: ArrayLike | None = None,
        n_threads: int = 1,
    ) -> RadiusNeighbors:
        """All codes within ``radius`` of each query code; parameters as in :meth:`search`."""
        options: dict[str, Any] = {"n_threads": n_threads, "weights": weights}
        found = [self._empty.search_radius(np.asarray(codes)[:0], radius, **options)]
        found += self._answer("search_radius", self.layout.check(codes), radius, options, filter)
        if len(found) == 1:
            return self._empty.search_radius(codes, radius, **options)
        counts = np.concatenate([np.diff(part.offsets) for part in found])
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        ids = np.concatenate([part.ids for part in found])
        return RadiusNeighbors(offsets, ids, np.concatenate([part.distances for part in found]))

    def _answer(
        self, method: str, queries: NDArray[Any], limit: Any, options: dict[str, Any], filter: Any
    ) -> list[Any]:
        """The answers to parts of the queries, in order; empty if there is nothing to ask or nobody to be asked."""
        asked = self._asked(filter)
        return search_all(self._cluster, asked, Question(method, queries, limit, options), shown=self._verbose)

    def _asked(self, filter: Any) -> list[Asked]:
        """The shards that may hold an answer, each with its filter and the number of its first code."""
        shards = self._shards
        if filter is None:
            return [(future, None, span.offset) for future, span in zip(shards.futures, shards.spans, strict=True)]
        chosen = cut(filter, shards.spans, ascending=shards.ascending)
        kept = [(f, c, s.offset) for f, c, s in zip(shards.futures, chosen, shards.spans, strict=True) if c is not None]
        if not kept:
            return []
        with self._cluster.plain_errors("searching"):
            filters = self._cluster.client.map(same, [c for _, c, _ in kept], pure=False)
        return [(future, sent, offset) for (future, _, offset), sent in zip(kept, filters, strict=True)]

    # -- files -----------------------------------------------------------------------------------------------------

    def save(self, folder: Any) -> None:
        """Write the index to a folder that all workers share, one file a shard and a manifest; see :meth:`open`.

        Workers write their own shards; the manifest comes last. What the folder held before is there until then and
        removed afterwards: an index that was opened from it no longer finds its files if it has to load them again.
        Only one may save to a folder at a time.
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
            write_manifest(place, Manifest(self.layout, version, self._shards.has_ids, sizes, table))
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
        """Let the workers forget the shards, and end the cluster if it was started for this index."""
        self._shards = Shards([], [], 0, self._shards.has_ids, True)
        self._cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _joined(parts: list[Any], nothing: Neighbors) -> Iterator[NDArray[Any]]:
    """The answers to all queries, or the answer of an empty index if there are none."""
    if not parts:
        yield from nothing
    else:
        yield from (np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def _check_layout(layout: Any) -> None:
    if not isinstance(layout, CodeLayout):
        raise InvalidInputError(f"layout must be a CodeLayout (a hasher's layout_), got {layout!r}")

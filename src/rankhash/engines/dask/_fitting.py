"""Fitting a hasher to a sample of a Dask array, or to given pairs of its rows."""

from __future__ import annotations

import math
from typing import Any

import dask.array as da
import joblib
import numpy as np
from dask.sizeof import sizeof
from distributed import futures_of
from numpy.typing import NDArray

from ..._checks import check_integer
from ..._types import I64
from ...errors import InvalidInputError
from ...hashers import Hasher
from ...hashers.parameters import as_random_state
from ...hashers.training import PairPool, sample_rows
from ._cluster import TIMEOUT, ClientLike, Cluster, connected
from ._encoding import check_array

MAX_POINTS = 100_000
"""Sample size for hashers without a parameter ``max_points``."""


def fit(
    hasher: Hasher,
    array: da.Array,
    y: Any = None,
    *,
    similarity: Any = None,
    max_points: int | None = None,
    max_blocks: int | None = None,
    client: ClientLike = None,
    timeout: float = TIMEOUT,
    verbose: bool = True,
) -> Hasher:
    """The hasher itself, fitted to a random sample of a Dask array of vectors ``(n, d)``.

    The workers draw the sample and send nothing else. Its rows depend on the hasher's ``random_state``, not on the
    blocks. An array that is smaller than the sample is used whole, with the result of ``hasher.fit``. The functions of
    RSH are independent and are learned on the workers; other methods learn in this process.

    Parameters
    ----------
    hasher
        The hasher to fit.
    array
        The vectors; the lengths of its blocks must be known.
    y
        Class labels ``(n,)``, or an indicator matrix ``(n, n_labels)``: a Dask array or an array. Default None.
    similarity
        Given pairs: rows (i, j, s), where i and j number the vectors, and s is 1 for similar and 0 or -1 for
        dissimilar ones. Only vectors that occur in the pairs are read; too many pairs are sampled. Default None.
    max_points
        The size of the sample. Default None: the hasher's ``max_points``, or 100 000 for hashers without it.
    max_blocks
        The number of randomly chosen blocks to read, for arrays that take too long to read whole; the sample then
        depends on the blocks. Default None: all blocks.
    client
        A client, or the address of a scheduler. Default None: the current client, or else a cluster of local
        processes that is closed afterwards.
    timeout
        Seconds to wait for the scheduler and its first worker. Default 30.
    verbose
        Whether a progress bar is shown on a terminal if drawing takes more than a second. Default True.

    Examples
    --------
    See the guide: ``docs/guide/dask.md``.
    """
    if not isinstance(hasher, Hasher):
        raise InvalidInputError(f"hasher must be one of rankhash, got {type(hasher).__name__}")
    check_array(array)
    if math.isnan(array.shape[0]):
        raise InvalidInputError("the lengths of the array's blocks are unknown; call array.compute_chunk_sizes() first")
    size = getattr(hasher, "max_points", MAX_POINTS) if max_points is None else max_points
    check_integer("max_points", size, 1, 2**31 - 1)
    labels = None if y is None else _check_labels(y, array.shape[0])
    rng = np.random.default_rng(as_random_state(hasher.random_state).randint(0, 2**31 - 1, size=4))
    if similarity is None:
        rows = _drawn_rows(rng, array.chunks[0], size, max_blocks)
        pairs = None
    else:
        _refuse_together(y, max_blocks)
        rows, pairs = _drawn_pairs(rng, similarity, array.shape[0], size)
    with connected(client, timeout=timeout) as cluster:
        X = _fetched(cluster, array, rows, verbose)
        known = None if labels is None else _fetched(cluster, labels, rows, verbose)
        if "n_jobs" not in hasher.get_params():
            return hasher.fit(X, known, similarity=pairs)
        with cluster.plain_errors("learning"), joblib.parallel_config(backend="dask", client=cluster.client):
            return hasher.fit(X, known, similarity=pairs)


def _check_labels(y: Any, n: int) -> Any:
    labels = y if isinstance(y, da.Array) else np.asarray(y)
    if labels.ndim not in (1, 2) or labels.shape[0] != n:
        raise InvalidInputError(f"y must have a row for each of {n} vectors, got the shape {labels.shape}")
    return labels


def _refuse_together(y: Any, max_blocks: int | None) -> None:
    if y is not None:
        raise InvalidInputError("pass y or similarity, not both: each alone says which pairs are similar")
    if max_blocks is not None:
        raise InvalidInputError("max_blocks cannot be kept with similarity, which says what must be read")


def _drawn_rows(rng: np.random.Generator, lengths: tuple[int, ...], size: int, max_blocks: int | None) -> I64 | None:
    """Which rows are learned from, ascending; None for all of them."""
    if max_blocks is not None:
        check_integer("max_blocks", max_blocks, 1, 2**31 - 1)
    if max_blocks is None or max_blocks >= len(lengths):
        return None if sum(lengths) <= size else sample_rows(rng, sum(lengths), size)
    blocks = np.sort(rng.choice(len(lengths), max_blocks, replace=False))
    counts = np.asarray(lengths, np.int64)[blocks]
    starts = np.concatenate([[0], np.cumsum(lengths)])[blocks]
    among = _drawn_rows(rng, tuple(counts.tolist()), size, None)
    if among is None:
        among = np.arange(counts.sum())
    ends = np.cumsum(counts)
    places = np.searchsorted(ends, among, side="right")
    rows: I64 = among - (ends - counts)[places] + starts[places]
    return rows


def _drawn_pairs(rng: np.random.Generator, similarity: Any, n: int, size: int) -> tuple[I64, NDArray[Any]]:
    """The rows that occur in the pairs, and the pairs as positions among these rows.

    Pairs are sampled so that at most ``size`` rows occur in them.
    """
    given = np.asarray(similarity)
    if given.ndim != 2 or given.shape[1] != 3 or given.dtype.kind not in "iuf":
        raise InvalidInputError(f"similarity must be rows (i, j, s), got {given.dtype} of the shape {given.shape}")
    ends = given[:, :2].astype(np.int64)
    if not len(given) or (ends != given[:, :2]).any() or ends.min() < 0 or ends.max() >= n:
        raise InvalidInputError(f"similarity must name pairs of the vectors 0 to {n - 1}")
    rows, places = np.unique(ends, return_inverse=True)
    places = places.reshape(ends.shape)
    if len(rows) > size:
        order = rng.permutation(len(places))
        first_seen = np.full(len(rows), len(places))
        np.minimum.at(first_seen, places[order].ravel(), np.repeat(np.arange(len(places)), 2))
        seen = np.bincount(first_seen, minlength=len(places)).cumsum()
        chosen = np.sort(order[seen <= size])
        return _drawn_pairs(rng, given[chosen], n, size) if len(chosen) else _too_few(size)
    return rows, np.column_stack([places, given[:, 2]])


def _too_few(size: int) -> Any:
    raise InvalidInputError(f"max_points={size} leaves no pair to learn from; it must be 2 or more")


def _fetched(cluster: Cluster, array: Any, rows: I64 | None, verbose: bool) -> NDArray[Any]:
    """The rows of an array; those of a Dask array are collected on the workers."""
    wanted = array if rows is None else array[rows]
    if not isinstance(wanted, da.Array):
        result: NDArray[Any] = wanted
        return result
    with cluster.plain_errors("drawing the sample"):
        held = cluster.client.persist(wanted)
    cluster.follow(futures_of(held), "drawing the sample", shown=verbose)
    fetched: NDArray[Any] = cluster.gather(cluster.client.compute(held), "drawing the sample")
    return fetched


@sizeof.register(PairPool)  # type: ignore[untyped-decorator]
def _size(pool: PairPool) -> int:
    """The size in bytes: joblib sends large objects to the workers once, small ones with every function."""
    return sum(sizeof(part) for part in (pool.x, pool.center, pool.pairs, pool.labels))

"""Tables of one layout on several servers, searched together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._checks import check_ids
from ..._types import I64, U8
from ...codes import CodeLayout
from ...errors import EngineError, InvalidInputError, LayoutMismatchError
from ...neighbors import Neighbors, RadiusNeighbors
from .._merging import merge_neighbors, merge_radius
from ._checks import check_k
from ._search import ApproximateNeighbors, Where
from .index import PostgresIndex

T = TypeVar("T")
Columns = Mapping[str, Sequence[Any]]


class PostgresShards:
    """Tables on several servers that answer as one: each is searched in its own thread, and the answers are merged.

    A code belongs to table number ``id % len(shards)``, so the tables must always be given in the same order. If one
    server fails, the call fails; there are no partial answers.

    Parameters
    ----------
    shards
        Tables of one layout, each on its own connection.
    """

    def __init__(self, shards: Sequence[PostgresIndex]) -> None:
        self.shards = tuple(shards)
        if not self.shards:
            raise InvalidInputError("there must be at least one table")
        if len({id(shard._connection) for shard in self.shards}) < len(self.shards):
            raise InvalidInputError("each table needs a connection of its own")
        if len({shard._table.bits for shard in self.shards}) > 1:
            raise LayoutMismatchError(
                "the tables hold codes of different layouts, hashers or weights; they must be made alike"
            )

    @property
    def layout(self) -> CodeLayout:
        """The layout of the codes."""
        return self.shards[0].layout

    def close(self) -> None:
        """Close the connections that were not given."""
        for shard in self.shards:
            shard.close()

    def __enter__(self) -> PostgresShards:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PostgresShards({len(self.shards)} tables, {self.shards[0]!r}, …)"

    def __len__(self) -> int:
        return self.count()

    def count(self, where: Where = None, params: Sequence[Any] = ()) -> int:
        """The number of codes in all tables; parameters are those of ``PostgresIndex.count``."""
        return sum(self._on_all(lambda shard, _: shard.count(where, params)))

    # -- codes in and out ------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A block whose changes are kept on all servers, or on none if a server fails before the end of the block.

        The servers commit one after another: a server that fails between these commits loses its part.
        """
        with ExitStack() as stack:
            for shard in self.shards:
                stack.enter_context(shard.transaction())
            yield

    def add(self, codes: ArrayLike, ids: ArrayLike, *, columns: Columns | None = None) -> None:
        """Add codes ``(n, n_bytes)`` under the given ids; ``columns`` (default None) as in ``PostgresIndex.add``."""
        self._write(PostgresIndex.add, codes, ids, columns)

    def upsert(self, codes: ArrayLike, ids: ArrayLike, *, columns: Columns | None = None) -> None:
        """Replace the codes of known ids and add the others; ``columns`` (default None) as in ``PostgresIndex.add``."""
        self._write(PostgresIndex.upsert, codes, ids, columns)

    def delete(self, ids: ArrayLike | None = None, *, where: Where = None, params: Sequence[Any] = ()) -> int:
        """The number of codes that were removed; parameters are those of ``PostgresIndex.delete``."""
        numbers = None if ids is None else check_ids(ids, None)
        with self.transaction():
            if numbers is None:
                return sum(self._on_all(lambda shard, _: shard.delete(where=where, params=params)))
            return sum(self._on_all(lambda shard, place: shard.delete(numbers[self._belongs(numbers, place)])))

    def get(self, ids: ArrayLike) -> U8:
        """The codes ``(n, n_bytes)`` of the given ids."""
        numbers = check_ids(ids, None, unique=False)
        codes = np.empty((len(numbers), self.layout.n_bytes), np.uint8)
        for place, part in enumerate(
            self._on_all(lambda shard, place: shard.get(numbers[self._belongs(numbers, place)]))
        ):
            codes[self._belongs(numbers, place)] = part
        return codes

    # -- search ----------------------------------------------------------------------------------------------------

    def search(self, codes: ArrayLike, k: int, *, where: Where = None, params: Sequence[Any] = ()) -> Neighbors:
        """The k nearest codes of each query in all tables; parameters are those of ``PostgresIndex.search``."""
        k = check_k(k)
        return merge_neighbors(self._on_all(lambda shard, _: shard.search(codes, k, where=where, params=params)), k)

    def search_radius(
        self, codes: ArrayLike, radius: float, *, where: Where = None, params: Sequence[Any] = ()
    ) -> RadiusNeighbors:
        """All codes within ``radius`` of each query, exactly; other parameters as in ``PostgresIndex.search``."""
        return merge_radius(
            self._on_all(lambda shard, _: shard.search_radius(codes, radius, where=where, params=params))
        )

    def search_approximate(
        self,
        codes: ArrayLike,
        k: int,
        *,
        ef_search: int | None = None,
        where: Where = None,
        params: Sequence[Any] = (),
    ) -> ApproximateNeighbors:
        """Most of the k nearest codes; parameters are those of ``PostgresIndex.search_approximate``."""
        k = check_k(k)
        parts = self._on_all(
            lambda shard, _: shard.search_approximate(codes, k, ef_search=ef_search, where=where, params=params)
        )
        return ApproximateNeighbors(*merge_neighbors(parts, k))

    # -- inside ----------------------------------------------------------------------------------------------------

    def _belongs(self, ids: I64, place: int) -> NDArray[np.intp]:
        return np.flatnonzero(ids % len(self.shards) == place)

    def _write(
        self,
        change: Callable[..., object],
        codes: ArrayLike,
        ids: ArrayLike,
        columns: Columns | None,
    ) -> None:
        checked = self.layout.check(codes)
        numbers = check_ids(ids, len(checked))

        def write(shard: PostgresIndex, place: int) -> None:
            some = self._belongs(numbers, place)
            values = {name: [column[i] for i in some] for name, column in (columns or {}).items()}
            change(shard, checked[some], numbers[some], columns=values)

        with self.transaction():
            self._on_all(write)

    def _on_all(self, call: Callable[[PostgresIndex, int], T]) -> list[T]:
        """The answers of all tables, in order; all have finished when this returns or raises."""
        with ThreadPoolExecutor(len(self.shards)) as pool:
            calls = [pool.submit(call, shard, place) for place, shard in enumerate(self.shards)]
        for place, done in enumerate(calls):
            error = done.exception()
            if isinstance(error, EngineError):
                raise EngineError(f"table {place + 1} of {len(self.shards)}: {error}") from error
        return [done.result() for done in calls]

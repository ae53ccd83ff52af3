"""A table of codes in PostgreSQL with the searches of an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike
from psycopg import sql

from ..._checks import check_ids
from ..._types import I64, U8
from ...codes import CodeLayout
from ...errors import InvalidInputError
from ...neighbors import Neighbors, RadiusNeighbors
from .._checks import check_layout
from . import _changes, _copy, _table
from ._bits import BitLayout
from ._changes import Batch
from ._checks import check_columns, check_ef_search, check_k, check_values
from ._connection import Connection, connected, session
from ._copy import Progress
from ._errors import translated
from ._open_table import OpenTable
from ._search import ApproximateNeighbors, Condition, Where
from ._server import Server

if TYPE_CHECKING:
    from typing_extensions import Self


class PostgresIndex(OpenTable):
    """Codes in a table of PostgreSQL: ``id bigint, code bit(n)`` and further columns that you name.

    Searches are exact, with the answers and the order of [`FlatIndex`][rankhash.FlatIndex]. The only exception is
    ``search_approximate``. An object and its connection belong to one thread.

    ``where`` is an SQL condition over the table's columns: text with one ``%s`` per value of ``params``, or an object
    of ``psycopg.sql``. It is part of your program. Never build it from input; pass input as ``params``.

    Examples
    --------
    See the guide: ``docs/guide/postgres.md``.
    """

    # -- create and open -------------------------------------------------------------------------------------------

    @classmethod
    def create_table(
        cls,
        server: str | Connection,
        table: str,
        layout: CodeLayout,
        *,
        schema: str | None = None,
        columns: Mapping[str, str] | None = None,
        weights: ArrayLike | None = None,
        levels: int | None = None,
        partitions: int = 0,
        primary_key: bool = True,
        pgvector: bool | None = None,
    ) -> Self:
        """A new, empty table of codes, opened.

        Parameters
        ----------
        server
            A connection string, or an open connection of psycopg, which you close yourself.
        table
            The table's name.
        layout
            The layout of the codes: the hasher's ``layout_``. It is stored in the database.
        schema
            The table's schema. Default None: the first schema of the search path.
        columns
            Further columns and their types, such as ``{"year": "integer"}``. Default None: no further columns.
        weights
            The weight of each symbol, (n_symbols,). Default None: each weighs 1. Integers are exact, since the bits
            of a symbol are repeated; other weights are rounded to multiples of ``max(weights) / levels``.
        levels
            The number of steps that weights are rounded to. Default None: integers are not rounded, other weights
            are rounded to 15 steps.
        partitions
            The number of partitions that the table is split into by id. Default 0: the table is not partitioned.
        primary_key
            Whether ids are unique from the start (default True). A table without a primary key is filled faster;
            ``create_key`` adds the key later.
        pgvector
            Default None: pgvector is used if the server has it. True requires it, False does not use it.
        """
        bits = BitLayout.weighted(check_layout(layout), weights, levels)
        wanted = check_columns(columns)
        target = _table.identifier(schema, table)
        with connected(server) as connection, translated():
            with connection.transaction():
                able = Server.of(connection, pgvector)
                _table.create(connection, schema, table, bits, wanted, partitions=partitions, primary_key=primary_key)
                made = _table.describe(connection, target, layout)
            return cls(connection, made, able, owned=isinstance(server, str))

    @classmethod
    def open(
        cls,
        server: str | Connection,
        table: str,
        layout: CodeLayout | None = None,
        *,
        schema: str | None = None,
        pgvector: bool | None = None,
    ) -> Self:
        """The table that ``create_table`` made.

        ``layout`` (default None: any) must be that of the table's codes. The other parameters are those of
        ``create_table``.
        """
        target = _table.identifier(schema, table)
        with connected(server) as connection, translated():
            with session(connection):
                able = Server.of(connection, pgvector)
                found = _table.describe(connection, target, layout)
            return cls(connection, found, able, owned=isinstance(server, str))

    # -- codes in and out ------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.count()

    def count(self, where: Where = None, params: Sequence[Any] = ()) -> int:
        """The number of codes that match ``where`` (default None: all codes) with values ``params`` (default ())."""
        condition = Condition.of(self._connection, where, params)
        with self._reading():
            return self._searches.count(condition)

    def add(
        self,
        codes: ArrayLike,
        ids: ArrayLike | None = None,
        *,
        columns: Mapping[str, Sequence[Any]] | None = None,
        progress: Progress | None = None,
    ) -> I64:
        """Add codes ``(n, n_bytes)`` by one binary COPY and return their ids.

        Parameters
        ----------
        codes
            The packed codes.
        ids
            Ids that are not in the table yet. Default None: the integers after the largest id; until the end of the
            transaction nobody else can add codes.
        columns
            A sequence of n values per further column. Default None: those columns are NULL.
        progress
            Called with the number of codes sent so far. Default None.
        """
        checked = self.layout.check(codes)
        values = check_values(columns, self._table.columns, len(checked))
        given = None if ids is None else check_ids(ids, len(checked))
        with self._changing():
            numbers = _changes.next_ids(self._connection, self._table, len(checked)) if given is None else given
            _changes.insert(self._connection, self._table, Batch(checked, numbers, values), progress)
        return numbers

    def upsert(
        self,
        codes: ArrayLike,
        ids: ArrayLike,
        *,
        columns: Mapping[str, Sequence[Any]] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Replace the codes of ids that are in the table and add the others.

        Parameters are those of ``add``. Columns that are not given keep their values.
        """
        checked = self.layout.check(codes)
        values = check_values(columns, self._table.columns, len(checked))
        batch = Batch(checked, check_ids(ids, len(checked)), values)
        with self._changing():
            _changes.upsert(self._connection, self._table, batch, progress)

    def delete(self, ids: ArrayLike | None = None, *, where: Where = None, params: Sequence[Any] = ()) -> int:
        """The number of codes that were removed, either by ``ids`` or by the condition ``where``.

        Both are None by default; exactly one of them is given. ``params`` (default ()) are the values of the
        condition. An unknown id is an UnknownIdError, and then nothing is removed.
        """
        if (ids is None) == (where is None):
            raise InvalidInputError("delete needs either ids or where")
        numbers = None if ids is None else check_ids(ids, None)
        condition = Condition.of(self._connection, where, params)
        with self._changing():
            if numbers is not None:
                return _changes.delete_ids(self._connection, self._table, numbers)
            return _changes.delete(self._connection, self._table, condition)

    def get(self, ids: ArrayLike) -> U8:
        """The codes ``(n, n_bytes)`` of the given ids."""
        numbers = check_ids(ids, None, unique=False)
        with self._reading():
            return self._searches.codes(numbers)

    def read(self) -> Iterator[tuple[I64, U8]]:
        """All ids in ascending order with their codes, in batches of some thousands.

        The connection is busy until the last batch is read.
        """
        with self._reading():
            yield from _copy.read(self._connection, self._table.sql, self._table.bits)

    # -- search ----------------------------------------------------------------------------------------------------

    def search(self, codes: ArrayLike, k: int, *, where: Where = None, params: Sequence[Any] = ()) -> Neighbors:
        """The k nearest codes of each query, exactly.

        The table is scanned, whatever indexes it has. ``where`` (default None) is a condition that restricts the search
        to some rows, ``params`` (default ()) are its values.
        """
        queries, k, condition = self._queries(codes), check_k(k), Condition.of(self._connection, where, params)
        with self._reading():
            return self._searches.nearest(queries, k, condition)

    def search_radius(
        self, codes: ArrayLike, radius: float, *, where: Where = None, params: Sequence[Any] = ()
    ) -> RadiusNeighbors:
        """All codes within ``radius`` of each query, exactly; other parameters as in ``search``."""
        queries, most = self._queries(codes), self._table.bits.most_differing(radius)
        condition = Condition.of(self._connection, where, params)
        with self._reading():
            return self._searches.within(queries, most, condition)

    def search_approximate(
        self,
        codes: ArrayLike,
        k: int,
        *,
        ef_search: int | None = None,
        where: Where = None,
        params: Sequence[Any] = (),
    ) -> ApproximateNeighbors:
        """Most of the k nearest codes of each query, by the HNSW index of ``create_hnsw``.

        ``ef_search``, from k to 1000, is the number of candidates that are kept: larger values find more neighbours
        and take longer. Default None: the larger of 40 and k. ``where`` (default None) and ``params`` (default ()) are
        those of ``search``; with them, pgvector before 0.8 may find fewer than k codes.
        """
        queries, k, condition = self._queries(codes), check_k(k), Condition.of(self._connection, where, params)
        kept = check_ef_search(ef_search, k)
        with self._changing():
            return self._searches.approximate(queries, k, kept, condition)

    # -- indexes ---------------------------------------------------------------------------------------------------

    def create_key(self) -> None:
        """Add the primary key to a table that was made without one."""
        with self._changing():
            self._connection.execute(sql.SQL("ALTER TABLE {} ADD PRIMARY KEY (id)").format(self._table.sql))

    def create_hnsw(self, *, m: int = 16, ef_construction: int = 64) -> None:
        """Build the HNSW index that ``search_approximate`` uses; later changes keep it up to date.

        ``m`` (default 16) is the number of links per node, ``ef_construction`` (default 64, at least 2·m) the number
        of candidates per insertion. Larger values find more neighbours and take longer to build. Building is fastest
        when the graph fits into ``maintenance_work_mem``.
        """
        schema = self._server.need_pgvector()
        with self._changing():
            _table.create_hnsw(self._connection, self._table, schema, m, ef_construction)

"""A table of codes in PostgreSQL, with the searches of an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg
from numpy.typing import ArrayLike, NDArray
from psycopg import sql

from ...codes import CodeLayout
from ...errors import IdError, InvalidInputError
from ...neighbors import Neighbors, RadiusNeighbors
from . import _changes, _copy, _table
from ._bits import BitLayout
from ._changes import Batch
from ._checks import check_columns, check_ef_search, check_ids, check_k, check_values
from ._copy import Progress
from ._errors import translated
from ._search import Condition, Searches, Where
from ._server import Server, connected, session
from ._table import Table

if TYPE_CHECKING:
    from typing_extensions import Self

I64 = NDArray[np.int64]
U8 = NDArray[np.uint8]
Connection = psycopg.Connection[Any]


class ApproximateNeighbors(Neighbors):
    """:class:`Neighbors` that were looked for in a graph: some of the nearest may be missing."""

    __slots__ = ()


class PostgresIndex:
    """Codes in a table of PostgreSQL: ``id bigint, code bit(n)`` and further columns that you name.

    Searches are exact, with the answers and the order of :class:`~rankhash.FlatIndex`; only
    :meth:`search_approximate` is not. Use one object a thread.

    ``where`` is a condition in SQL over the table's columns, as text with ``%s`` for each of ``params`` or of
    ``psycopg.sql``. It is part of your program: never make it from what others send, that belongs into ``params``.
    """

    def __init__(self, connection: Connection, table: Table, server: Server, *, owned: bool) -> None:
        self._connection, self._table, self._server, self._owned = connection, table, server, owned
        self._searches = Searches(connection, table, server)

    # -- open and close --------------------------------------------------------------------------------------------

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
        """Make a table for codes.

        Parameters
        ----------
        server
            A connection string, or an open connection of psycopg, which stays yours.
        table, schema
            The table's name, and where to make it if not in the first schema of the search path.
        layout
            The shape of the codes: the hasher's ``layout_``. It is kept in the database.
        columns
            Further columns and their types, ``{"year": "integer"}``.
        weights
            What a differing symbol costs, (n_symbols,), instead of 1. Bits are repeated for it: exactly for whole
            numbers; others are rounded to multiples of the largest weight / ``levels``.
        levels
            None keeps whole numbers and rounds others to 15 steps.
        partitions
            If not 0, the table is split by id into so many.
        primary_key
            Whether ids are unique from the start. A table without is filled faster; see :meth:`create_key`.
        pgvector
            None uses it if the server has it, True demands it, False does without.
        """
        if not isinstance(layout, CodeLayout):
            raise InvalidInputError(f"layout must be a CodeLayout (a hasher's layout_), got {layout!r}")
        wanted = check_columns(columns)
        bits = BitLayout.weighted(layout, weights, levels)
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
        """Open a table that :meth:`create_table` made; an error if its codes are not of ``layout``.

        The other parameters are those of :meth:`create_table`.
        """
        target = _table.identifier(schema, table)
        with connected(server) as connection, translated():
            with session(connection):
                able = Server.of(connection, pgvector)
                found = _table.describe(connection, target, layout)
            return cls(connection, found, able, owned=isinstance(server, str))

    def close(self) -> None:
        """Close the connection, unless it was given."""
        if self._owned:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        layout = self.layout
        return f"PostgresIndex({self.table!r}, codes of {layout.n_symbols} symbols of arity {layout.arity})"

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def layout(self) -> CodeLayout:
        """The shape of the codes."""
        return self._table.bits.layout

    @property
    def table(self) -> str:
        """The table's name as it stands in SQL, quoted, with its schema."""
        return self._table.sql.as_string(self._connection)

    @property
    def columns(self) -> dict[str, str]:
        """The further columns and their types."""
        return dict(self._table.columns)

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """What a differing symbol costs here, (n_symbols,), after rounding; None if each costs 1."""
        bits = self._table.bits
        return None if bits.copies is None else np.array(bits.copies) * bits.step

    @property
    def scale(self) -> int:
        """Bits in which two codes differ for each differing symbol."""
        return self._table.bits.scale

    @property
    def uses_pgvector(self) -> bool:
        """Whether distances come from pgvector; otherwise from ``bit_count``."""
        return self._server.vector_schema is not None

    def bit_strings(self, codes: ArrayLike) -> list[str]:
        """The codes as text of the column's type, for SQL of your own: ``B'0110…'``."""
        return _copy.as_text(self._table.bits, self.layout.check(codes))

    def __len__(self) -> int:
        return self.count()

    def count(self, where: Where = None, params: Sequence[Any] = ()) -> int:
        """How many codes there are, or how many pass ``where``."""
        condition = Condition.of(self._connection, where, params)
        statement = sql.SQL("SELECT count(*) FROM {} WHERE {}").format(self._table.sql, condition.sql)
        with self._reading():
            return int(self._connection.execute(statement, condition.params).fetchall()[0][0])

    # -- codes in and out ------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """``with index.transaction():`` keeps all changes in the block, or none; inside another, a savepoint."""
        block = self._connection.transaction()
        with translated():
            block.__enter__()
        try:
            yield
        except BaseException as error:
            if not block.__exit__(type(error), error, error.__traceback__):
                raise
        else:
            with translated():
                block.__exit__(None, None, None)

    def add(
        self,
        codes: ArrayLike,
        ids: ArrayLike | None = None,
        *,
        columns: Mapping[str, Sequence[Any]] | None = None,
        progress: Progress | None = None,
    ) -> I64:
        """Add codes ``(n, n_bytes)`` by one binary COPY and return their ids.

        Without ``ids`` the codes get the numbers after the largest so far, and nobody else adds meanwhile. ``columns``
        has a sequence of n values for each column. ``progress`` is called with the number of codes sent so far.
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
        """Replace the codes of ids that are in the table and add the others; columns not given keep their values."""
        checked = self.layout.check(codes)
        values = check_values(columns, self._table.columns, len(checked))
        batch = Batch(checked, check_ids(ids, len(checked)), values)
        with self._changing():
            _changes.upsert(self._connection, self._table, batch, progress)

    def delete(self, ids: ArrayLike | None = None, *, where: Where = None, params: Sequence[Any] = ()) -> int:
        """Remove codes by their ids, or those that pass ``where``; returns how many.

        An id that is not in the table is an error, and then nothing is removed.
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
        statement = sql.SQL("SELECT id, code FROM {} WHERE id = ANY(%s)").format(self._table.sql)
        with self._reading():
            rows = self._connection.cursor(binary=True).execute(statement, [numbers.tolist()]).fetchall()
        found = dict(rows)
        missing = [number for number in numbers.tolist() if number not in found]
        if missing:
            raise IdError(f"id {missing[0]} is not in the table")
        return _copy.from_bit_strings(self._table.bits, [found[number] for number in numbers.tolist()])

    def read(self) -> Iterator[tuple[I64, U8]]:
        """All ids, ascending, with their codes, some thousands at a time: to fill another index, for one.

        The connection is busy until the last of them was read.
        """
        with self._reading():
            yield from _copy.read(self._connection, self._table.sql, self._table.bits)

    # -- search ----------------------------------------------------------------------------------------------------

    def search(self, codes: ArrayLike, k: int, *, where: Where = None, params: Sequence[Any] = ()) -> Neighbors:
        """The k nearest codes of each query code, exactly: the table is scanned, whatever indexes it has."""
        queries, k, condition = self._queries(codes), check_k(k), Condition.of(self._connection, where, params)
        with self._reading():
            return self._searches.nearest(queries, k, condition)

    def search_radius(
        self, codes: ArrayLike, radius: float, *, where: Where = None, params: Sequence[Any] = ()
    ) -> RadiusNeighbors:
        """All codes within ``radius`` of each query code, exactly."""
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
        """Most of the k nearest codes, by the index of :meth:`create_hnsw`: approximate, and far faster when large.

        ``ef_search``, k to 1000, is how many candidates are kept: more of them find more and take longer.
        None is 40, or k if that is larger. With ``where``, pgvector before 0.8 may find fewer than k.
        """
        queries, k, condition = self._queries(codes), check_k(k), Condition.of(self._connection, where, params)
        kept = check_ef_search(ef_search, k)
        with self._changing():
            return ApproximateNeighbors(*self._searches.approximate(queries, k, kept, condition))

    # -- indexes ---------------------------------------------------------------------------------------------------

    def create_key(self) -> None:
        """Make ids unique, in a table that was made without a primary key."""
        with self._changing():
            self._connection.execute(sql.SQL("ALTER TABLE {} ADD PRIMARY KEY (id)").format(self._table.sql))

    def create_hnsw(self, *, m: int = 16, ef_construction: int = 64) -> None:
        """Build the index of :meth:`search_approximate`; larger numbers find more and take longer.

        Building is fastest when the graph fits ``maintenance_work_mem``. Later changes keep it up to date.
        """
        schema = self._server.need_pgvector()
        with self._changing():
            _table.create_hnsw(self._connection, self._table, schema, m, ef_construction)

    # -- inside ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with translated(), self._connection.transaction():
            yield

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with translated(), session(self._connection):
            yield

    def _queries(self, codes: ArrayLike) -> list[_copy.BitString]:
        return _copy.bit_strings(self._table.bits, self.layout.check(codes))

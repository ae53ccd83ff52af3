"""An open table of codes: its connection, its facts and its transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from ..._types import F64
from ...codes import CodeLayout
from . import _copy
from ._connection import Connection, session, transaction
from ._errors import translated
from ._search import Searches
from ._server import Server
from ._table import Table

if TYPE_CHECKING:
    from typing_extensions import Self


class OpenTable:
    """A table of codes with the connection that it was opened by.

    ``owned`` says that the connection was opened for the table and is closed with it.
    """

    def __init__(self, connection: Connection, table: Table, server: Server, *, owned: bool) -> None:
        self._connection, self._table, self._server, self._owned = connection, table, server, owned
        self._searches = Searches(connection, table, server)

    def close(self) -> None:
        """Close the connection, unless you opened it yourself."""
        if self._owned:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        layout = self.layout
        return f"{type(self).__name__}({self.table!r}, codes of {layout.n_symbols} symbols of arity {layout.arity})"

    # -- facts -----------------------------------------------------------------------------------------------------

    @property
    def layout(self) -> CodeLayout:
        """The shape of the codes."""
        return self._table.bits.layout

    @property
    def table(self) -> str:
        """The table's name as SQL has it: quoted, with its schema."""
        return self._table.sql.as_string(self._connection)

    @property
    def columns(self) -> dict[str, str]:
        """The further columns and their types."""
        return dict(self._table.columns)

    @property
    def weights(self) -> F64 | None:
        """The weight of each symbol ``(n_symbols,)`` after rounding; None if each weighs 1."""
        return self._table.bits.weights

    @property
    def scale(self) -> int:
        """The number of bits in which two codes differ per differing symbol."""
        return self._table.bits.scale

    @property
    def uses_pgvector(self) -> bool:
        """Whether pgvector computes the distances; otherwise ``bit_count`` does."""
        return self._server.vector_schema is not None

    def bit_strings(self, codes: ArrayLike) -> list[str]:
        """The codes as text of the column's type, for SQL of your own: ``B'0110…'``."""
        return _copy.as_text(self._table.bits, self.layout.check(codes))

    # -- transactions ----------------------------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[None]:
        """A block whose changes are kept all or not at all; inside another such block, a savepoint."""
        return transaction(self._connection)

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

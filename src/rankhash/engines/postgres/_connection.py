"""Connections to a server: opened without ever showing a password, and their transactions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from ...errors import EngineError, InvalidInputError
from ._copy import teach_bit_strings
from ._errors import explanation, translated

Connection = psycopg.Connection[Any]

_PORTS = re.compile(r"[0-9, ]*")
_HOW_TO_WRITE = (
    "write 'host=… dbname=… user=…' with values that hold spaces in single quotes, or "
    "'postgresql://user@host/dbname' with special characters percent-encoded (@ is %40, / is %2F)"
)


@contextmanager
def connected(server: str | Connection) -> Iterator[Connection]:
    """An open connection; if the block fails, a connection that was opened here is closed."""
    if not isinstance(server, (str, psycopg.Connection)):
        kind = type(server).__name__  # the value itself may hold a password
        raise InvalidInputError(f"server must be a connection string or a connection of psycopg, got a {kind}")
    connection = _connect(server) if isinstance(server, str) else server
    try:
        teach_bit_strings(connection)
        yield connection
    except BaseException:
        if isinstance(server, str):
            connection.close()
        raise


def _connect(server: str) -> Connection:
    """A new connection. No error quotes the password, or a part that may be one because of a missing escape."""
    secrets = _secrets(server)
    try:
        return psycopg.connect(server, autocommit=True)
    except psycopg.Error as error:
        reason = explanation(error)
        if any(secret in reason for secret in secrets):
            raise EngineError("PostgreSQL cannot be reached; the reason holds the password and is not shown") from None
        raise EngineError(f"PostgreSQL cannot be reached: {reason}") from error


def _secrets(server: str) -> list[str]:
    """The passwords of a connection string; raises if a password may have spilled into another part."""
    try:
        if "\0" in server:  # libpq would read what stands before it only, and take a part of the password for the host
            raise ValueError
        parts = conninfo_to_dict(server)
    except (psycopg.ProgrammingError, ValueError):
        raise InvalidInputError(f"server is not a valid connection string; {_HOW_TO_WRITE}") from None
    places = [str(parts.get(name, "")) for name in ("host", "hostaddr", "port", "dbname")]
    if not _PORTS.fullmatch(str(parts.get("port", ""))) or any("@" in place for place in places):
        raise InvalidInputError(f"host, port or dbname of the connection string cannot be right; {_HOW_TO_WRITE}")
    return [str(parts[name]) for name in ("password", "sslpassword") if parts.get(name)]


def session(connection: Connection) -> AbstractContextManager[object]:
    """A block for reads, which leaves no transaction open behind it."""
    return nullcontext() if connection.autocommit else connection.transaction()


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """A block whose changes are kept all or not at all; inside another one, a savepoint.

    Errors of the block itself pass unchanged; those of BEGIN and COMMIT are translated.
    """
    block = connection.transaction()
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

"""Errors of psycopg and of the server, translated into those of rankhash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from ...errors import EngineError, InvalidInputError, TakenIdError


@contextmanager
def translated() -> Iterator[None]:
    """A block in which psycopg's errors become those of `rankhash.errors`, with the server's message and detail."""
    try:
        yield
    except errors.UniqueViolation as error:
        raise TakenIdError(
            f"an id is given twice or already in the table; upsert replaces codes ({explanation(error)})"
        ) from error
    except (errors.UndefinedTable, errors.InsufficientPrivilege, errors.DuplicateTable) as error:
        raise EngineError(f"PostgreSQL refuses: {explanation(error)}") from error
    except psycopg.DataError as error:
        raise InvalidInputError(f"a value does not fit its column: {explanation(error)}") from error
    except (psycopg.ProgrammingError, psycopg.NotSupportedError, psycopg.IntegrityError) as error:
        raise InvalidInputError(f"PostgreSQL refuses: {explanation(error)}") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise EngineError(
            f"PostgreSQL cannot be reached or gave up: {explanation(error)}; nothing of a change under way was kept, "
            "and after a lost connection the table must be opened again"
        ) from error
    except psycopg.Error as error:
        raise EngineError(f"PostgreSQL failed: {explanation(error)}") from error


def explanation(error: Exception) -> str:
    """The server's message and its detail, in one line."""
    diagnosis = getattr(error, "diag", None)
    text = (diagnosis and diagnosis.message_primary) or str(error)
    detail = diagnosis.message_detail if diagnosis else None
    return " ".join(f"{text}: {detail}".split() if detail else text.split())

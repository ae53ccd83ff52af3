"""What the server or psycopg refuses, in our own words and errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from ...errors import EngineError, IdError, InvalidInputError


@contextmanager
def translated() -> Iterator[None]:
    """Turns psycopg's errors into those of :mod:`rankhash.errors`; the first line of the server's message is kept."""
    try:
        yield
    except errors.UniqueViolation as error:
        raise IdError(f"an id is given twice or already in the table; upsert replaces codes ({_say(error)})") from error
    except (errors.UndefinedTable, errors.InsufficientPrivilege, errors.DuplicateTable) as error:
        raise EngineError(f"PostgreSQL refuses: {_say(error)}") from error
    except psycopg.DataError as error:
        raise InvalidInputError(f"a value does not fit its column: {_say(error)}") from error
    except (psycopg.ProgrammingError, psycopg.NotSupportedError, psycopg.IntegrityError) as error:
        raise InvalidInputError(f"PostgreSQL refuses: {_say(error)}") from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise EngineError(
            f"PostgreSQL cannot be reached or gave up: {_say(error)}; nothing of a change under way was kept, "
            "and after a lost connection the table must be opened again"
        ) from error
    except psycopg.Error as error:
        raise EngineError(f"PostgreSQL failed: {_say(error)}") from error


def _say(error: Exception) -> str:
    diagnosis = getattr(error, "diag", None)
    text = (diagnosis and diagnosis.message_primary) or str(error)
    detail = diagnosis.message_detail if diagnosis else None
    return " ".join(f"{text}: {detail}".split() if detail else text.split())

"""Errors of the libraries that decode files, as one sentence of this package."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from ..errors import InvalidInputError, RankhashError

LONGEST = 200
"""Characters of a library's message that are shown"""


@contextlib.contextmanager
def decoding(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Turn any error of a library into an InvalidInputError; errors of the operating system pass through.

    Parameters
    ----------
    path
        The file, for the message.
    what
        The expected kind of file, such as ``"Parquet file"``.
    """
    try:
        yield
    except (RankhashError, FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError):
        raise
    except Exception as error:  # libraries raise many kinds of errors for damaged files
        raise InvalidInputError(f"{os.fspath(path)} is not a readable {what}: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """The beginning of a message, or the kind of the error if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:LONGEST]

"""Every error that rankhash raises on purpose, in one tree.

::

    RankhashError
    ├── InvalidInputError (ValueError)   vectors, codes, parameters that cannot be used
    │   ├── InvalidTypeError (TypeError) vectors that do not hold real numbers, or are sparse
    │   ├── LayoutMismatchError          codes or tables that belong to another layout
    │   └── FilterError                  a filter expression with a mistake, and where it is
    ├── IdError (ValueError)             ids that are negative, repeated, taken or unknown
    ├── FileFormatError (ValueError)     a file that is damaged, foreign or of another version
    ├── StorageError (OSError)           a collection's file cannot be read or written: full, read-only, closed
    │   └── BusyError                    somebody else is writing to it, and went on for longer than we waited
    └── EngineError (RuntimeError)       another system cannot be reached, gave up, or lacks what is needed
"""

from collections.abc import Iterable
from difflib import get_close_matches


class RankhashError(Exception):
    """The base of all errors of this package."""


class InvalidInputError(RankhashError, ValueError):
    """Vectors, codes or parameters that cannot be used; the message says what was expected."""


class InvalidTypeError(InvalidInputError, TypeError):
    """Vectors that do not hold real numbers, or are sparse."""


class LayoutMismatchError(InvalidInputError):
    """Codes, tables or weights whose shape belongs to another layout."""


class IdError(RankhashError, ValueError):
    """Ids that are negative, repeated, already taken or unknown."""


class FileFormatError(RankhashError, ValueError):
    """A file that is damaged, foreign, or written in a format that this version does not know."""


class FilterError(InvalidInputError):
    """A filter expression with a mistake; ``position`` counts its characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class StorageError(RankhashError, OSError):
    """A collection's file cannot be read or written: the disk is full, it is read-only, or it was closed."""


class BusyError(StorageError):
    """Somebody else is writing to the collection and went on for longer than we waited."""


class EngineError(RankhashError, RuntimeError):
    """Another system, such as a Dask cluster, cannot be reached, gave up, or lacks what is needed."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InvalidInputError:
    """The error for a name that is none of the known ones; it suggests the nearest.

    >>> str(unknown_name("method", "SRHS", ["RSH", "SRSH"]))
    "there is no method 'SRHS'; did you mean SRSH? Known: RSH, SRSH"
    """
    known = list(known)
    lower = {other.lower(): other for other in known}
    near = get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    hint = f"did you mean {lower[near[0]]}? " if near else ""
    return InvalidInputError(f"there is no {kind} {name!r}; {hint}Known: {', '.join(known)}")

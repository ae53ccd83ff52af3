"""Every error that rankhash raises on purpose, in one tree.

::

    RankhashError
    ├── InvalidInputError (ValueError)   vectors, codes, parameters that cannot be used
    │   ├── InvalidTypeError (TypeError) vectors that do not hold real numbers, or are sparse
    │   ├── LayoutMismatchError          codes or tables that belong to another layout
    │   ├── TooManyPairsError            a radius within which more pairs lie than are wanted
    │   └── FilterError                  a filter expression with a mistake, and where it is
    ├── IdError (ValueError)             ids of a wrong type, shape or range
    │   ├── DuplicateIdError             an id that is given more than once in one call
    │   ├── TakenIdError                 an id that another item has already
    │   └── UnknownIdError               an id that no item has
    ├── FileFormatError (ValueError)     a file that is damaged, foreign or of another version
    ├── StorageError (OSError)           a file cannot be read or written: full disk, read-only, closed, replaced
    │   └── BusyError                    timed out waiting for another writer
    ├── DeadlineError (TimeoutError)     a read was interrupted at its deadline
    └── EngineError (RuntimeError)       another system cannot be reached, failed, or lacks a requirement
        └── client.ServerError           a server refused a request
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


class TooManyPairsError(InvalidInputError):
    """More pairs lie within a radius than ``max_pairs``; ``estimate`` says about how many."""

    def __init__(self, max_pairs: int, estimate: float) -> None:
        super().__init__(
            f"about {estimate:.2g} pairs lie within the radius, more than max_pairs={max_pairs}; take a smaller "
            "radius, or a larger max_pairs (None: no limit)"
        )
        self.estimate = estimate


class IdError(RankhashError, ValueError):
    """Ids that cannot be used: of a wrong type, shape or range, or one of the subclasses."""


class DuplicateIdError(IdError):
    """An id that is given more than once in one call."""


class TakenIdError(IdError):
    """An id that another item has already; ``upsert`` replaces items."""


class UnknownIdError(IdError):
    """An id that no item has."""


class FileFormatError(RankhashError, ValueError):
    """A file that is damaged, foreign, or written in a format that this version does not know."""


class FilterError(InvalidInputError):
    """A filter expression with a mistake; ``position`` counts its characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class StorageError(RankhashError, OSError):
    """A file cannot be read or written: the disk is full, the file is read-only, closed, deleted or replaced."""


class BusyError(StorageError):
    """Timed out waiting for another writer of the collection."""


class DeadlineError(RankhashError, TimeoutError):
    """A read of a collection was interrupted because its time was over."""


class EngineError(RankhashError, RuntimeError):
    """Another system, such as a Dask cluster, cannot be reached, failed, or lacks a requirement."""


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

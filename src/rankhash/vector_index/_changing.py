"""Changes of an index in memory that are made whole or not at all."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from ._cells import Cells
from ._ids import RowIds
from ._rows import Rows


class _Changed(Protocol):
    rows: Rows
    ids: RowIds
    cells: Cells | None


P = ParamSpec("P")
E = TypeVar("E", bound=_Changed)


def whole(change: Callable[Concatenate[E, P], None]) -> Callable[Concatenate[E, P], None]:
    """A method that leaves everything as it was if it raises, for example after Ctrl-C or without memory."""

    @functools.wraps(change)
    def changed(engine: E, /, *args: P.args, **kwargs: P.kwargs) -> None:
        cells = None if engine.cells is None else engine.cells.copied()
        before = engine.__dict__ | {"rows": copy.copy(engine.rows), "ids": copy.copy(engine.ids), "cells": cells}
        try:
            change(engine, *args, **kwargs)
        except BaseException:
            engine.__dict__.update(before)
            engine.ids.sort()  # its dict of the newest ids is also that of the change
            raise

    return changed

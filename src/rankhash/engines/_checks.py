"""Checks of arguments that all engines share."""

from __future__ import annotations

from typing import Any

from ..codes import CodeLayout
from ..errors import InvalidInputError


def check_layout(layout: Any) -> CodeLayout:
    """The layout, if it is one."""
    if not isinstance(layout, CodeLayout):
        raise InvalidInputError(f"layout must be a CodeLayout (a hasher's layout_), got {layout!r}")
    return layout

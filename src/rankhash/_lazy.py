"""Names of a package that are imported on first use, so that unused modules cost no import time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, names: dict[str, Any], homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package; ``homes`` maps its lazy names to their modules.

    ``names`` are the package's globals. The modules of ``homes`` are attributes of the package as well.
    """
    modules = {*homes.values()}

    def find(name: str) -> Any:
        if name in homes:
            return names.setdefault(name, getattr(import_module(f"{package}.{homes[name]}"), name))
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find, lambda: sorted({*names, *homes})

"""Print what extras of the package need, one requirement per line: ``python tools/extras.py lint``.

Installing the extra itself would build the native module again.
"""

from __future__ import annotations

import sys
from importlib.metadata import requires

from packaging.requirements import Requirement

PACKAGE = "rankhash"


def main() -> None:
    """Print the requirements of the extras that are named on the command line."""
    for line in sorted(needed(sys.argv[1:])):
        print(line)


def needed(extras: list[str]) -> set[str]:
    """The requirements of the extras, and of those extras that they include."""
    found: set[str] = set()
    for requirement in map(Requirement, requires(PACKAGE) or []):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            continue
        if not any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        if requirement.name == PACKAGE:
            found |= needed(sorted(requirement.extras))
        else:
            parts = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            found.add(f"{requirement.name}{parts}{requirement.specifier}")
    return found


if __name__ == "__main__":
    main()

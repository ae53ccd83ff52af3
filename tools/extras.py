"""Print what an extra of the package needs, a line each: ``python tools/extras.py lint``.

Installing the extra itself would build the native module anew.
"""

from __future__ import annotations

import sys
from importlib.metadata import requires

from packaging.requirements import Requirement


def main() -> None:
    """Print the requirements that only the named extras bring."""
    for text in requires("rankhash") or []:
        requirement = Requirement(text)
        wanted = any(requirement.marker and requirement.marker.evaluate({"extra": extra}) for extra in sys.argv[1:])
        if wanted and requirement.name != "rankhash":
            extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            print(f"{requirement.name}{extras}{requirement.specifier}")


if __name__ == "__main__":
    main()

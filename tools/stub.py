"""Writes src/rankhash/_native.pyi from the built module; ``--check`` only says whether it is up to date."""

from __future__ import annotations

import sys
from pathlib import Path

from nanobind.stubgen import StubGen

from rankhash import _native

STUB = Path(__file__).parents[1] / "src" / "rankhash" / "_native.pyi"


def generate() -> str:
    """The stub of the module that is installed."""
    generator = StubGen(_native)
    generator.put(_native)
    return str(generator.get())


def main() -> int:
    """0 if the stub is or was brought up to date."""
    fresh = generate()
    if "--check" not in sys.argv:
        STUB.write_text(fresh)
    elif STUB.read_text() != fresh:
        print(f"{STUB.name} is stale: run `make format`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

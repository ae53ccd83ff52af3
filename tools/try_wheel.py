"""Builds a wheel, installs it in a venv of its own without the test tools, and searches with it there."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = """
import pathlib, rankhash
from rankhash import LSH, FlatIndex
hasher = LSH(n_symbols=64, random_state=0).fit([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
index = FlatIndex(hasher.layout_)
index.add(hasher.encode([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
assert index.search(hasher.encode([[1.0, 0.1]]), k=1).ids.tolist() == [[1]]
folder = pathlib.Path(rankhash.__file__).parent
for name in ("py.typed", "_native.pyi", "evaluation/page.html", "server/page/index.html", "server/page/app.js"):
    assert (folder / name).exists(), name
print("rankhash", rankhash.__version__, rankhash.cpu_info())
"""


def main() -> None:
    """Fail with the command that failed."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, str(ROOT))
        (wheel,) = Path(folder).glob("rankhash-*.whl")
        venv.create(Path(folder) / "venv", with_pip=True)
        python = Path(folder) / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", str(wheel))
        run(python, "-c", PROGRAM, cwd=folder)


def run(*command: str | Path, cwd: str | None = None) -> None:
    """Run a command and fail if it does."""
    subprocess.run([str(part) for part in command], check=True, cwd=cwd)


if __name__ == "__main__":
    main()

"""Builds the sdist and a wheel, checks them, and tries the wheel in a venv of its own: ``python tools/dist.py``.

The wheel is made from the sdist, so that nothing can be missing there. It is installed without the tools of
development and without a compiler.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PROGRAM = """
import pathlib, sys, time
start = time.process_time()
import rankhash
print(f"import rankhash: {time.process_time() - start:.2f} s of CPU")
assert "sklearn" not in sys.modules
from rankhash import LSH, Collection, FlatIndex
X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
hasher = LSH(n_symbols=64, random_state=0).fit(X)
index = FlatIndex(hasher.layout_)
index.add(hasher.encode(X))
assert index.search(hasher.encode([[1.0, 0.1]]), k=1).ids.tolist() == [[1]]
with Collection.create("x.rankhash", hasher) as collection:
    collection.add(X, ids=["a", "b", "c"])
    assert collection.search([[1.0, 0.1]], k=1).ids.tolist() == [["b"]]
folder = pathlib.Path(rankhash.__file__).parent
for name in ("py.typed", "_native.pyi", "evaluation/page.html", "server/page/index.html"):
    assert (folder / name).exists(), name
print("rankhash", rankhash.__version__, rankhash.cpu_info())
"""


def main() -> None:
    """Fail with the command that failed."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    (wheel,) = DIST.glob("rankhash-*.whl")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder) / "venv", with_pip=True)
        programs = Path(folder) / "venv" / "bin"
        run(programs / "python", "-m", "pip", "install", "--quiet", wheel, env=os.environ | {"CXX": "false"})
        run(programs / "python", "-c", PROGRAM, cwd=folder)
        run(programs / "rankhash", "--version", cwd=folder)
    print(f"built and tried: {', '.join(sorted(path.name for path in DIST.iterdir()))}")


def run(*command: str | Path, cwd: str | None = None, env: dict[str, str] | None = None) -> None:
    """Run a command and fail if it does."""
    subprocess.run([str(part) for part in command], check=True, cwd=cwd, env=env)


if __name__ == "__main__":
    main()

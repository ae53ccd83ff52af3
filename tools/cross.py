"""Build the native core for AArch64 and compare its NEON kernels with the scalar ones: ``python tools/cross.py``.

Needs a cross compiler and an emulator (Debian: ``g++-aarch64-linux-gnu`` and ``qemu-user-static``); without them it
says so and ends with 0. ``--native`` does the same with this machine's compiler and instruction sets.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
NATIVE = ROOT / "native"
FLAGS = ["-std=c++20", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", f"-I{NATIVE}"]

AVX2 = ("-mavx2", "-mfma", "-mf16c")
ISA_FLAGS = {
    "kernels_avx2": AVX2,
    "kernels_avx512": (*AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-Wno-maybe-uninitialized"),
}


def main() -> int:
    """0 if all instruction sets agree, or there is nothing to compare with."""
    native = "--native" in sys.argv
    compiler, runner = ("g++", []) if native else ("aarch64-linux-gnu-g++", ["qemu-aarch64-static"])
    missing = [tool for tool in (compiler, *runner) if shutil.which(tool) is None]
    if missing:
        print(f"not compared: there is no {' and no '.join(missing)} here")
        return 0
    folder = ROOT / "build" / ("check-native" if native else "check-aarch64")
    folder.mkdir(parents=True, exist_ok=True)
    program = build(compiler, folder, native=native)
    return subprocess.run([*runner, program], check=False).returncode


def build(compiler: str, folder: Path, *, native: bool) -> Path:
    """The program that compares, linked without anything of the system it runs on."""
    own = ("avx2", "avx512") if native else ("neon",)
    defines = [f"-DRANKHASH_HAVE_{name.upper()}" for name in own]
    names = ("dispatch", "kernels_scalar", *(f"kernels_{name}" for name in own))
    kernels = [NATIVE / "kernels" / f"{name}.cpp" for name in names]
    sources = [*sorted((NATIVE / "core").glob("*.cpp")), *kernels, NATIVE / "check" / "compare.cpp"]

    def compiled(source: Path) -> Path:
        target = folder / f"{source.stem}.o"
        subprocess.run(
            [compiler, *FLAGS, *defines, *ISA_FLAGS.get(source.stem, ()), "-c", source, "-o", target], check=True
        )
        return target

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, sources))
    program = folder / "compare"
    subprocess.run([compiler, "-static", *objects, "-o", program, "-pthread"], check=True)
    return program


if __name__ == "__main__":
    sys.exit(main())

"""Building an index in a process of its own, so that time and peak memory are its own; built peers are kept.

A peer's index stays in ``<data>/<set>/peers/``, with the facts of its build, and is used again. Ours is built anew in
each run.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np

from frontier._contenders import OURS, Index, Params, contender
from harness.prepared_sets import VectorSet, load_set
from harness.processes import in_new_process
from harness.results import Facts


def built(folder: Path, data: VectorSet, module: str, params: Params) -> tuple[Index, Facts]:
    """An index that can be searched, and the facts of its build."""
    if module == OURS or data.name == "quick":
        with TemporaryDirectory() as scratch:
            return _made(folder, data, module, params, Path(scratch) / "index")
    place = folder / data.name / "peers"
    place.mkdir(exist_ok=True)
    name = "-".join([contender_name(module), *(str(value) for value in params.values())]).replace(",", "-")
    return _made(folder, data, module, params, place / name)


def contender_name(module: str) -> str:
    """The name of a contender in file names.

    >>> contender_name("faiss_ivf_pq"), contender_name("hnswlib_graph")
    ('faiss-ivf-pq', 'hnswlib')
    """
    return re.sub("-(graph|tree)$", "", module.replace("_", "-"))


def _made(folder: Path, data: VectorSet, module: str, params: Params, path: Path) -> tuple[Index, Facts]:
    facts = Path(f"{path}.json")
    if not facts.exists():
        made = in_new_process(build, folder, data.name, module, params, path, blas_threads=1)
        facts.write_text(json.dumps(made), encoding="utf-8")
    index = contender(module).Index.load(path, data.base, data.metric)
    told = json.loads(facts.read_text(encoding="utf-8"))
    ram = getattr(index, "ram", None)
    return index, told | {"ram_per_vector": told["bytes_per_vector"] if ram is None else ram(len(data.base))}


def build(folder: Path, name: str, module: str, params: Params, path: Path) -> Facts:
    """Build and save; seconds, peak memory with the vectors, and bytes of the file per vector."""
    data = load_set(folder, name)
    vectors = np.array(data.base)
    cpu, wall = process_time(), perf_counter()
    index = contender(module).Index.build(vectors, data.metric, **params)
    seconds = {"cpu_s": process_time() - cpu, "wall_s": perf_counter() - wall}
    peak = _peak_megabytes()
    index.save(path)
    return {**seconds, "peak_mb": peak, "bytes_per_vector": _size(path) / len(data.base)}


def _peak_megabytes() -> float | None:
    """Largest resident memory since this program started, in 10⁶ bytes; None where the system does not tell."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="utf-8")) if status.exists() else None
    return int(found[1]) * 1024 / 1e6 if found else None


def _size(path: Path) -> int:
    files: Any = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())

"""One to a hundred million codes of 64 bits on one machine: results/scale.json, docs/images/scale.svg.

Every size runs in a process of its own, so that its memory can be told; rows of other sizes are kept. Codes are of
arity 4, once clustered as in ``data.py``, once learned: SIFT vectors copied with noise as in ``lookup_data.py``. Ours
and FAISS take turns.
Needs about 10 GB of memory and 3 GB of disk at a hundred million; ``--sizes`` takes fewer.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from data import CHUNK, draw_codes, embed
from lookup_data import QUERY_STREAM, LookupSpec, learned_codes
from machine import provenance, refuse_private_names
from plot import Panel, draw
from rankhash import CodeLayout, FlatIndex, TableIndex
from sets import add_data_option

RESULTS = Path(__file__).parent / "results"
SIZES = (1_000_000, 10_000_000, 100_000_000)
LAYOUT = CodeLayout(32, 4)
K, BATCH, ADDED = 10, 256, 10_000
Row = dict[str, Any]


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    add_data_option(parser)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--kinds", nargs="+", default=["clustered", "sift"], choices=["clustered", "sift"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--pictures", type=Path, default=Path(__file__).parents[1] / "docs" / "images")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "SIZE"), help="measure one size and print it")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]), options.repeats, options.data)))
        return 0
    rows = [_apart(kind, n, options) for kind in options.kinds for n in options.sizes]
    options.out.mkdir(parents=True, exist_ok=True)
    kept = options.out / "scale.json"
    rows = merged(json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else None, rows)
    text = json.dumps({"provenance": provenance() | {"load": os.getloadavg()}, "rows": rows}, indent=1)
    refuse_private_names(text)
    kept.write_text(text + "\n", encoding="utf-8")
    options.pictures.mkdir(parents=True, exist_ok=True)
    (options.pictures / "scale.svg").write_text(picture(rows), encoding="utf-8")
    return 0


def merged(before: Row | None, rows: list[Row]) -> list[Row]:
    """New rows with their commit, and those of other sizes and kinds from before."""
    commit = provenance()["commit"]
    new = {(row["kind"], row["n"]): {"commit": commit} | row for row in rows}
    old = {} if before is None else {(row["kind"], row["n"]): row for row in before["rows"]}
    if before is not None:
        old = {key: {"commit": before["provenance"]["commit"]} | row for key, row in old.items()}
    return [row for _, row in sorted((old | new).items())]


def _apart(kind: str, n: int, options: Any) -> Row:
    """One size in a process of its own."""
    command = [sys.executable, __file__, "--one", kind, str(n), "--repeats", str(options.repeats)]
    done = subprocess.run([*command, "--data", options.data], stdout=subprocess.PIPE, text=True, check=True)
    row: Row = json.loads(done.stdout)
    print(kind, f"{n:,}", {key: value for key, value in row.items() if isinstance(value, float)}, flush=True)
    return row


def measure(kind: str, n: int, repeats: int, folder: Path) -> Row:
    """Everything that is said of one size."""
    codes, queries = _codes(kind, n, folder)
    row: Row = {"kind": kind, "n": n, "bits": LAYOUT.bits, "arity": LAYOUT.arity}
    flat, row["build_s"], row["resident_mb"] = _built(FlatIndex, codes)
    row["bytes_a_code"] = round(flat.nbytes / n, 3)
    row |= _file(flat)
    row |= _scans(flat, queries, n, repeats)
    row |= _beside_faiss(flat, codes, queries, repeats)
    wanted = flat.search(queries[:20], K).ids
    row |= _added(flat, queries, "flat")
    tables, row["tables_build_s"], row["tables_resident_mb"] = _built(TableIndex, codes)
    row["n_tables"] = tables.n_tables
    singles = [_timed(lambda q=q: tables.search(q, K, n_threads=1)) for q in queries[:200, None]]
    row["tables_single_ms"] = round(1e3 * float(np.mean(singles)), 4)
    row["tables_agree"] = bool((tables.search(queries[:20], K).ids == wanted).all())
    return row | _added(tables, queries, "tables")


def _codes(kind: str, n: int, folder: Path) -> tuple[Any, Any]:
    if kind == "clustered":
        return tuple(
            draw_codes(LAYOUT, size, kind=kind, stream=stream) for size, stream in ((n, 0), (1000, QUERY_STREAM))
        )
    return learned_codes(LookupSpec(LAYOUT.n_symbols, LAYOUT.arity, n, 1000, kind), folder)


def _built(kind: type, codes: Any) -> tuple[Any, float, float]:
    """An index of all codes, the seconds of its building, and the megabytes that the process grew by."""
    before, start = _resident(), time.perf_counter()
    index = kind(LAYOUT)
    for first in range(0, len(codes), 40 * CHUNK):
        index.add(codes[first : first + 40 * CHUNK])
    index.search(codes[:1], 1)
    return index, round(time.perf_counter() - start, 3), round(_resident() - before, 1)


def _file(index: FlatIndex) -> Row:
    """Saving, the file's size, and opening by memory map until the first answer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.rankhash"
        save = _timed(lambda: index.save(path))
        row: Row = {"save_s": round(save, 3), "file_mb": round(path.stat().st_size / 1e6, 1)}
        row["open_s"] = round(_timed(lambda: FlatIndex.load(path, mmap=True)), 4)
        row["open_unverified_s"] = round(_timed(lambda: FlatIndex.load(path, mmap=True, verify=False)), 4)
    return row


def _scans(index: FlatIndex, queries: Any, n: int, repeats: int) -> Row:
    """A lone query, and with bitmaps that let 1 % and 50 % pass; seconds of the clock, one thread."""
    rng = np.random.default_rng(0)
    row: Row = {}
    calls: dict[str, Callable[[Any], Any]] = {"single_ms": lambda q: index.search(q, K, n_threads=1)}
    for share in (0.01, 0.5):
        chosen = np.packbits(rng.random(n) < share, bitorder="little")
        calls[f"filter_{share:g}_ms"] = lambda q, chosen=chosen: index.search(q, K, filter=chosen, n_threads=1)
    for name, call in calls.items():
        row[name] = round(1e3 * median(_timed(lambda q=q, call=call: call(q)) for q in queries[: 2 * repeats, None]), 3)
    return row


def _beside_faiss(index: FlatIndex, codes: Any, queries: Any, repeats: int) -> Row:
    """A batch of queries: ours and FAISS's exhaustive search of the one-hot bits, in turn, one thread each."""
    import faiss

    faiss.omp_set_num_threads(1)
    bits, scale = embed(LAYOUT, queries[:BATCH])
    peer = faiss.IndexBinaryFlat(8 * bits.shape[1])
    for first in range(0, len(codes), CHUNK):
        peer.add(embed(LAYOUT, codes[first : first + CHUNK])[0])
    ours, theirs = [], []
    for _ in range(repeats if len(codes) <= 10_000_000 else 2):
        ours.append(_timed(lambda: index.search(queries[:BATCH], K, n_threads=1)))
        theirs.append(_timed(lambda: peer.search(bits, K)))
    same = peer.search(bits[:8], K)[0] == scale * index.search(queries[:8], K).distances
    return {
        "batch_ms": round(1e3 * median(ours), 2),
        "faiss_batch_ms": round(1e3 * median(theirs), 2),
        "batch_ratio": round(median(theirs) / median(ours), 2),
        "faiss_agrees": bool(same.all()),
    }


def _added(index: Any, queries: Any, name: str) -> Row:
    """Ten times ten thousand codes more, each followed by a search: the longest of both."""
    more = draw_codes(LAYOUT, 10 * ADDED, kind="clustered", stream=3)
    adds, searches = [], []
    for i in range(10):
        adds.append(_timed(lambda i=i: index.add(more[i * ADDED : (i + 1) * ADDED])))
        searches.append(_timed(lambda i=i: index.search(queries[i : i + 1], K, n_threads=1)))
    longest = {"add_ms": max(adds), "search_while_adding_ms": max(searches)}
    return {f"{name}_{key}": round(1e3 * seconds, 3) for key, seconds in longest.items()}


def _timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _resident() -> float:
    """Megabytes of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def picture(rows: list[Row]) -> str:
    """Time and memory over the number of codes."""

    def line(kind: str, key: str, scale: float) -> list[tuple[float, float]]:
        return [(row["n"], scale * row[key]) for row in rows if row["kind"] == kind]

    panels = []
    times = {"scan, one query": "single_ms", "scan, 256 queries": "batch_ms", "tables, one query": "tables_single_ms"}
    for kind in dict.fromkeys(row["kind"] for row in rows):
        lines = {name: line(kind, key, 1e-3) for name, key in times.items()}
        panels.append(Panel(f"{kind} codes: time of a call", "codes", lines))
    kind = rows[0]["kind"]
    memory = {"scan": line(kind, "resident_mb", 1), "tables": line(kind, "tables_resident_mb", 1)}
    panels.append(Panel("resident memory", "codes", memory, unit="MB"))
    return draw(panels)


if __name__ == "__main__":
    sys.exit(main())

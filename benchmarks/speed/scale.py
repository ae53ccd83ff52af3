"""One to a hundred million codes of 64 bits on one machine: building, memory, files, scan, hash tables, adding.

Every size runs in a process of its own, which shows its memory. Codes have arity 4. They are clustered codes, or
codes learned from SIFT, whose vectors are copied with noise. rankhash and FAISS take turns. A hundred million codes
need about 10 GB of memory and 3 GB of disk.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from harness.codes import CHUNK, Spec, draw_codes, embed
from harness.lookup_codes import QUERY_STREAM, learned_codes
from harness.processes import in_new_process, resident_megabytes
from harness.results import Facts, Row
from harness.running import Run
from rankhash import CodeLayout, FlatIndex, LookupIndex
from rankhash._types import U8

SIZES = (1_000_000, 10_000_000, 100_000_000)
KINDS = ("clustered", "sift")
LAYOUT = CodeLayout(32, 4)
K, BATCH, ADDED, REPEATS = 10, 256, 10_000, 5


def rows(run: Run) -> Iterator[Row]:
    """One row per kind and number of codes; a quick run has clustered codes only."""
    kinds, sizes = (KINDS[:1], (20_000,)) if run.quick else (KINDS, SIZES)
    for key in run.wanted({"kind": kind, "n": n} for kind in kinds for n in sizes):
        yield Row(key, in_new_process(measure, key["kind"], key["n"], REPEATS, run.data))


def measure(kind: str, n: int, repeats: int, folder: Path) -> Facts:
    """Everything that is said of one size."""
    codes, queries = _codes(kind, n, folder)
    row: Facts = {"bits": LAYOUT.bits, "arity": LAYOUT.arity}
    flat, row["build_s"], row["resident_mb"] = _built(FlatIndex, codes)
    row["bytes_a_code"] = round(flat.nbytes / n, 3)
    row |= _file(flat)
    row |= _scans(flat, queries, n, repeats)
    row |= _compared_with_faiss(flat, codes, queries, repeats)
    wanted = flat.search(queries[:20], K).ids
    row |= _added(flat, queries, "flat")
    tables, row["tables_build_s"], row["tables_resident_mb"] = _built(LookupIndex, codes)
    row["n_tables"] = tables.n_tables
    singles = [_timed(partial(tables.search, q, K, n_threads=1)) for q in queries[:200, None]]
    row["tables_single_ms"] = round(1e3 * float(np.mean(singles)), 4)
    row["tables_agree"] = bool((tables.search(queries[:20], K).ids == wanted).all())
    row["agree"] = row["tables_agree"] and row["faiss_agrees"]
    return row | _added(tables, queries, "tables")


def _codes(kind: str, n: int, folder: Path) -> tuple[U8, U8]:
    if kind == "clustered":
        codes = draw_codes(LAYOUT, n, kind=kind, stream=0)
        return codes, draw_codes(LAYOUT, 1000, kind=kind, stream=QUERY_STREAM)
    return learned_codes(Spec(LAYOUT.n_symbols, LAYOUT.arity, n, 1000, kind), folder)


def _built(kind: type, codes: Any) -> tuple[Any, float, float]:
    """An index of all codes, the seconds of its building, and the megabytes that the process grew by."""
    before, start = resident_megabytes(), time.perf_counter()
    index = kind(LAYOUT)
    for first in range(0, len(codes), 40 * CHUNK):
        index.add(codes[first : first + 40 * CHUNK])
    index.search(codes[:1], 1)
    return index, round(time.perf_counter() - start, 3), round(resident_megabytes() - before, 1)


def _file(index: FlatIndex) -> Facts:
    """Saving, the file's size, and opening by memory map until the first answer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.rankhash"
        save = _timed(lambda: index.save(path))
        row: Facts = {"save_s": round(save, 3), "file_mb": round(path.stat().st_size / 1e6, 1)}
        row["open_s"] = round(_timed(lambda: FlatIndex.load(path, mmap=True)), 4)
        row["open_unverified_s"] = round(_timed(lambda: FlatIndex.load(path, mmap=True, verify=False)), 4)
    return row


def _scans(index: FlatIndex, queries: Any, n: int, repeats: int) -> Facts:
    """A lone query, and with bitmaps that let 1 % and 50 % pass; seconds of the clock, one thread."""
    rng = np.random.default_rng(0)
    row: Facts = {}
    calls: dict[str, Callable[..., Any]] = {"single_ms": partial(index.search, k=K, n_threads=1)}
    for share in (0.01, 0.5):
        chosen = np.packbits(rng.random(n) < share, bitorder="little")
        calls[f"filter_{share:g}_ms"] = partial(index.search, k=K, filter=chosen, n_threads=1)
    for name, call in calls.items():
        row[name] = round(1e3 * median(_timed(partial(call, q)) for q in queries[: 2 * repeats, None]), 3)
    return row


def _compared_with_faiss(index: FlatIndex, codes: Any, queries: Any, repeats: int) -> Facts:
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


def _added(index: Any, queries: Any, name: str) -> Facts:
    """Ten times ten thousand codes more, each followed by a search: the longest of both."""
    more = draw_codes(LAYOUT, 10 * ADDED, kind="clustered", stream=3)
    adds, searches = [], []
    for i in range(10):
        adds.append(_timed(partial(index.add, more[i * ADDED : (i + 1) * ADDED])))
        searches.append(_timed(partial(index.search, queries[i : i + 1], K, n_threads=1)))
    longest = {"add_ms": max(adds), "search_while_adding_ms": max(searches)}
    return {f"{name}_{key}": round(1e3 * seconds, 3) for key, seconds in longest.items()}


def _timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start

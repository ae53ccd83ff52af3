"""A hundred million and a billion random codes of 64 bits in one `FlatIndex`, built from a generator.

Every size runs in a process of its own, which shows its memory. A billion codes need 9 GB of memory and 8 GB of disk.
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

from harness.processes import in_new_process, peak_megabytes, resident_megabytes
from harness.results import Facts, Row
from harness.running import Run
from rankhash import CodeLayout, FlatIndex, Index
from rankhash._types import U8

SIZES = (100_000_000, 1_000_000_000)
LAYOUT = CodeLayout(32, 4)
K, BATCH, SINGLES, PART = 10, 256, 5, 4_000_000


def rows(run: Run) -> Iterator[Row]:
    """One row per number of codes."""
    for key in run.wanted({"n": n} for n in ((20_000,) if run.quick else SIZES)):
        yield Row(key, in_new_process(measure, key["n"]))


def measure(n: int) -> Facts:
    """Building, memory, the file, searches in memory and in the mapped file."""
    before, codes_mb = resident_megabytes(), n * LAYOUT.n_bytes / 1e6
    index = FlatIndex(LAYOUT)
    build = _timed(partial(_fill, index, n))
    row: Facts = {"bits": LAYOUT.bits, "arity": LAYOUT.arity, "build_s": round(build, 2)}
    row["peak_of_codes"] = round((peak_megabytes() * 1.048576 - before) / codes_mb, 4)
    queries = _draw(-1, BATCH)
    row |= _searches(index, queries, "")
    found = index.search(queries, K)
    truth = np.concatenate([_nearest(queries[0], part, number) for number, part in _parts(n)])
    truth = truth[np.lexsort((truth["id"], truth["distance"]))][:K]
    row["agree"] = bool((found.ids[0] == truth["id"]).all() and (found.distances[0] == truth["distance"]).all())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "codes.rankhash"
        row["save_s"] = round(_timed(partial(index.save, path)), 2)
        row["file_mb"] = round(path.stat().st_size / 1e6, 1)
        row["open_s"] = round(_timed(partial(FlatIndex.load, path, mmap=True)), 3)
        row["open_unverified_s"] = round(_timed(partial(FlatIndex.load, path, mmap=True, verify=False)), 4)
        del index
        mapped = FlatIndex.load(path, mmap=True, verify=False)
        row |= _searches(mapped, queries, "mapped_")
        same = mapped.search(queries, K)
        row["agree"] = row["agree"] and bool((same.ids == found.ids).all())
    return row


def _fill(index: FlatIndex, n: int) -> None:
    index.reserve(n)
    for _, codes in _parts(n):
        index.add(codes)


def _parts(n: int) -> Iterator[tuple[int, U8]]:
    for number, first in enumerate(range(0, n, PART)):
        yield number, _draw(number, min(PART, n - first))


def _draw(number: int, n: int) -> U8:
    """Codes of arity 4: every byte is four symbols."""
    return np.random.default_rng([20260, number + 1]).integers(0, 256, (n, LAYOUT.n_bytes), np.uint8)


def _nearest(query: U8, codes: U8, number: int) -> Any:
    """The nearest of a part by a NumPy scan, with their ids among all codes; a symbol is two bits of a word."""
    differing = codes.view(np.uint64)[:, 0] ^ query.view(np.uint64)[0]
    distances = np.bitwise_count((differing | differing >> np.uint64(1)) & np.uint64(0x5555555555555555))
    best = np.flatnonzero(distances <= np.partition(distances, K - 1)[K - 1])
    out = np.empty(len(best), [("id", np.int64), ("distance", np.float32)])
    out["id"], out["distance"] = best + number * PART, distances[best]
    return out


def _searches(index: Index, queries: U8, name: str) -> Facts:
    """Seconds of the clock: one query with one and with all threads, and a batch with one thread."""
    row: Facts = {}
    for threads, label in ((1, "single"), (None, "single_all_threads")):
        calls = [partial(index.search, query[None], K, n_threads=threads) for query in queries[:SINGLES]]
        row[f"{name}{label}_ms"] = round(1e3 * median(_timed(call) for call in calls), 2)
    row[f"{name}batch_ms"] = round(1e3 * _timed(partial(index.search, queries, K, n_threads=1)), 1)
    return row


def _timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start

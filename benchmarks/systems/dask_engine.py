"""What Dask costs and gives, and what a search over many shards costs.

Two worker processes of one thread each. Parts: ``encode`` and ``search`` compared with this process alone; ``fanout``:
one query over a growing number of shards; ``loss``: a worker killed with SIGKILL before a search; ``node``: one core
alone; ``merge``: answers of 10 to 1000 real shards through the tree of merges, one merge after another in this process,
without the network. Wall-clock times but for ``merge`` and ``node``. Needs 4.2 GB of disk and 4 GB of memory.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

from harness.answers import same_neighbors
from harness.codes import draw_codes
from harness.results import Facts, Row
from harness.running import Run
from harness.timing import interleave
from rankhash import LSH, CodeLayout, FlatIndex, Hasher, Neighbors, load_hasher
from rankhash._types import U8
from rankhash.engines._merging import merge_neighbors
from rankhash.engines.dask import DaskIndex, encode
from rankhash.engines.dask._searching import FAN_IN

LAYOUT = CodeLayout(32, 4)
K = 10
FEATURES = 128

_hasher: Hasher
"""The hasher of a process of the pool."""


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    vectors: int
    block: int
    codes: int
    queries: int
    shards: tuple[int, ...]
    fanout: tuple[int, ...]
    merged: tuple[int, ...]
    fan_ins: tuple[int, ...]
    repeats: int


FULL = Sizes(
    8_000_000, 125_000, 10_000_000, 1000, (2, 4, 8), (1, 10, 100, 1000), (10, 30, 100, 300, 1000), (4, 8, 32), 7
)
QUICK = Sizes(4000, 1000, 20_000, 50, (2, 4), (1, 10), (10, 30), (4, 8), 2)


@dataclass(frozen=True)
class Bench:
    """What the parts share: codes, queries, an index of all codes, and a folder for files."""

    sizes: Sizes
    folder: Path
    codes: U8
    queries: U8
    flat: FlatIndex


def rows(run: Run) -> Iterator[Row]:
    """One row per part and number of shards."""
    sizes = QUICK if run.quick else FULL
    clustered: list[Facts] = [{"part": "encode"}, *({"part": "search", "shards": n} for n in sizes.shards)]
    clustered += [*({"part": "fanout", "shards": n} for n in sizes.fanout), {"part": "loss"}]
    here: list[Facts] = [{"part": "node"}]
    here += [{"part": "merge", "shards": n, "fan_in": fan_in} for n in sizes.merged for fan_in in sizes.fan_ins]
    with tempfile.TemporaryDirectory() as folder:
        bench = _bench(sizes, Path(folder))
        with _cluster() as cluster, Client(cluster) as client:
            for key in run.wanted(clustered):
                yield Row(key, with_cluster(bench, client, **key))
        for key in run.wanted(here):
            yield Row(key, one_node(bench) if key["part"] == "node" else merging(bench, key["shards"], key["fan_in"]))


def _bench(sizes: Sizes, folder: Path) -> Bench:
    codes = draw_codes(LAYOUT, sizes.codes, kind="clustered", stream=0)
    flat = FlatIndex(LAYOUT)
    flat.add(codes)
    return Bench(sizes, folder, codes, draw_codes(LAYOUT, sizes.queries, kind="clustered", stream=1), flat)


def _cluster() -> LocalCluster:
    quiet = logging.CRITICAL
    return LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=quiet)


def with_cluster(bench: Bench, client: Client, part: str, shards: int = 0) -> Facts:
    """The values of a part that needs the workers."""
    if part == "encode":
        return encoding(bench)
    if part == "search":
        return searching(bench, shards)
    return fanning_out(bench, shards) if part == "fanout" else losing(bench, client)


def encoding(bench: Bench) -> Facts:
    """Vectors in .npy files to codes in this process: mapped, encoded, gathered.

    "Two processes" is what the machine gives without Dask: each encodes half of the files and sends the codes back.
    """
    sizes, folder = bench.sizes, bench.folder
    paths = _vector_files(sizes, folder)
    hasher = LSH(128, random_state=0).fit(np.load(paths[0])[:1000])
    load = dask.delayed(np.load)
    blocks = [load(str(path), mmap_mode="r") for path in paths]
    parts = [da.from_delayed(block, (sizes.block, FEATURES), np.float32) for block in blocks]
    lazy = encode(da.concatenate(parts), hasher)

    def alone(n_threads: int) -> Any:
        return np.concatenate([hasher.encode(np.load(path, mmap_mode="r"), n_threads=n_threads) for path in paths])

    hasher.save(folder / "hasher.safetensors")
    started = (str(folder / "hasher.safetensors"),)
    with ProcessPoolExecutor(2, get_context("spawn"), initializer=_start, initargs=started) as pool:
        contenders = {
            "one thread": lambda: alone(1),
            "two threads": lambda: alone(2),
            "two processes": lambda: np.concatenate([*pool.map(_encode_file, paths)]),
            "dask": lazy.compute,
        }
        agree = all(bool((run() == alone(1)).all()) for run in contenders.values())
        contenders["dask, codes stay on the workers"] = lambda: wait(lazy.persist())
        samples = interleave(contenders, sizes.repeats)["wall"]
    for path in paths:
        path.unlink()
    times = {name: median(values) for name, values in samples.items()}
    row = {"vectors": sizes.vectors, "features": FEATURES, "bits": hasher.layout_.bits, "agree": agree}
    return row | {"seconds": times, "samples": samples}


def _vector_files(sizes: Sizes, folder: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    paths = [folder / f"vectors-{i}.npy" for i in range(sizes.vectors // sizes.block)]
    for path in paths:
        np.save(path, rng.standard_normal((sizes.block, FEATURES), dtype=np.float32))
    return paths


def _start(path: str) -> None:
    """What a process of the pool begins with."""
    global _hasher
    _hasher = load_hasher(path)


def _encode_file(path: Path) -> Any:
    return _hasher.encode(np.load(path, mmap_mode="r"), n_threads=1)


def searching(bench: Bench, n_shards: int) -> Facts:
    """A batch of queries over all codes, in two processes and in two threads of this one."""
    queries, flat = bench.queries, bench.flat
    with shards_of(bench.folder, bench.codes, n_shards) as index:
        agree = same_neighbors(index.search(queries, K), flat.search(queries, K))
        contenders = {
            "native": lambda: flat.search(queries, K, n_threads=2),
            "dask": lambda: index.search(queries, K),
        }
        samples = interleave(contenders, bench.sizes.repeats)["wall"]
    added = [dask - native for dask, native in zip(samples["dask"], samples["native"], strict=True)]
    row = {"codes": len(bench.codes), "queries": len(queries), "agree": agree}
    seconds = {name: median(times) for name, times in samples.items()}
    return row | {"seconds": seconds, "added_ms": 1e3 * median(added), "samples": samples}


def fanning_out(bench: Bench, n_shards: int) -> Facts:
    """One query over few codes: what the scheduler costs."""
    few = bench.codes[: 100 * max(bench.sizes.fanout)]
    with shards_of(bench.folder, few, n_shards) as index:
        contenders = {"dask": lambda: index.search(bench.queries[:1], K)}
        samples = interleave(contenders, bench.sizes.repeats)["wall"]["dask"]
    return {"milliseconds": 1e3 * median(samples), "samples": samples}


def losing(bench: Bench, client: Client) -> Facts:
    """A search right after one of the two workers was killed."""
    queries = bench.queries
    with shards_of(bench.folder, bench.codes, 4) as index:
        index.search(queries, K)
        start = time.perf_counter()
        index.search(queries, K)
        usual = time.perf_counter() - start
        worker = sorted(client.nthreads())[0]
        os.kill(client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)
        start = time.perf_counter()
        found = index.search(queries, K)
        seconds = time.perf_counter() - start
    row = {"codes": len(bench.codes), "queries": len(queries), "shards": 4}
    agree = same_neighbors(found, bench.flat.search(queries, K))
    return row | {"agree": agree, "seconds": {"usual": usual, "after the loss": seconds}}


def shards_of(folder: Path, codes: U8, n_shards: int) -> DaskIndex:
    """The codes in ``n_shards`` files, loaded by the workers."""
    place = folder / f"codes-{n_shards}-{len(codes)}"
    if not place.exists():
        place.mkdir()
        for i, part in enumerate(np.array_split(codes, n_shards)):
            np.save(place / f"{i:04d}.npy", part)
    return DaskIndex.from_files(place, LAYOUT)


# -- in this process ---------------------------------------------------------------------------------------------------


def one_node(bench: Bench) -> Facts:
    """What one core does: codes compared, bytes held, files loaded."""
    flat, queries, path = bench.flat, bench.queries, bench.folder / "flat.rankhash"
    flat.save(path)
    contenders = {
        "batch": lambda: flat.search(queries, K, n_threads=1),
        "single": lambda: flat.search(queries[:1], K, n_threads=1),
        "load": lambda: FlatIndex.load(path),
        "map": lambda: FlatIndex.load(path, mmap=True, verify=False),
    }
    samples = interleave(contenders, max(2, bench.sizes.repeats // 3))["process"]
    path.unlink()
    ns = {"batch": 1e9 * median(samples["batch"]) / len(flat) / len(queries)}
    ns["single"] = 1e9 * median(samples["single"]) / len(flat)
    load = {"checked": median(samples["load"]), "mapped": median(samples["map"])}
    row = {"codes": len(flat), "queries": len(queries), "bits": LAYOUT.bits, "bytes_a_code": flat.nbytes / len(flat)}
    return row | {"ns_a_code_and_query": ns, "load_seconds": load, "samples": samples}


def merging(bench: Bench, n_shards: int, fan_in: int) -> Facts:
    """Answers of real shards through a tree of merges."""
    parts, start = [], 0
    for part in np.array_split(bench.codes, n_shards):
        shard = FlatIndex(LAYOUT)
        shard.add(part)
        found = shard.search(bench.queries, K, n_threads=1)
        parts.append(Neighbors(np.where(found.ids >= 0, found.ids + start, -1), found.distances))
        start += len(part)
    merged_answer, facts = merged(parts, fan_in)
    agree = same_neighbors(merged_answer, bench.flat.search(bench.queries, K))
    return {"used": fan_in == FAN_IN, "queries": len(bench.queries), "k": K} | facts | {"agree": agree}


def merged(parts: list[Neighbors], fan_in: int) -> tuple[Neighbors, dict[str, Any]]:
    """The whole answer, and what it took; the longest way is the sum of each level's slowest merge."""
    total, longest, levels, sent = 0.0, 0.0, 0, 0
    while len(parts) > 1:
        answers, times = [], []
        for i in range(0, len(parts), fan_in):
            group = parts[i : i + fan_in]
            began = time.process_time()
            answers.append(merge_neighbors(group, K))
            times.append(time.process_time() - began)
            sent = max(sent, sum(part.ids.nbytes + part.distances.nbytes for part in group))
        parts, levels = answers, levels + 1
        total, longest = total + sum(times), longest + max(times)
    return parts[0], {"levels": levels, "longest_ms": 1e3 * longest, "cpu_ms": 1e3 * total, "bytes_a_merge": sent}

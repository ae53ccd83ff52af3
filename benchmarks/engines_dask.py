"""What Dask costs and gives, and what a search over many shards would cost.

    python benchmarks/engines_dask.py [--quick] [--out FILE] [--folder DIR]

Two worker processes of one thread each. Parts: ``encode`` and ``search`` beside this process alone, ``fanout`` (one
query over more and more shards), ``loss`` (a worker killed with SIGKILL before a search), ``merge`` (answers of 10 to
1000 real shards through the tree of merges, one merge after another in this process: what is missing is the network),
``node`` (what one core does). Wall-clock times but for ``merge`` and ``node``. The folder needs 4.2 GB; memory 4 GB.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import tempfile
import time
from argparse import ArgumentParser
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

from data import draw_codes
from machine import provenance, refuse_private_names
from measure import interleave
from rankhash import LSH, CodeLayout, FlatIndex, Hasher, Neighbors, load_hasher
from rankhash.engines._merging import merge_neighbors
from rankhash.engines.dask import DaskIndex, encode
from rankhash.engines.dask._searching import FAN_IN

RESULTS = Path(__file__).parent / "results"
LAYOUT = CodeLayout(32, 4)
K = 10
FEATURES = 128

_hasher: Hasher
"""That of a process of the pool."""


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


def main() -> int:
    """0 if every answer was that of a FlatIndex."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small data: shows that everything runs, measures nothing")
    parser.add_argument("--folder", type=Path, help="where vectors and codes are put meanwhile")
    parser.add_argument("--out", type=Path, default=RESULTS / "engines_dask.json")
    options = parser.parse_args()
    sizes = QUICK if options.quick else FULL
    load = os.getloadavg()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        result = measure(sizes, Path(folder))
    head = {"provenance": provenance() | {"load": [load, os.getloadavg()]}, "quick": options.quick}
    head["versions"] = {"dask": dask.__version__}
    text = json.dumps(head | result, indent=1) + "\n"
    refuse_private_names(text)
    options.out.write_text(text, encoding="utf-8")
    agree = all(row.get("agree", True) for rows in result.values() for row in rows)
    return 0 if agree else 1


def measure(sizes: Sizes, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """All parts, by name."""
    codes = draw_codes(LAYOUT, sizes.codes, kind="clustered", stream=0)
    queries = draw_codes(LAYOUT, sizes.queries, kind="clustered", stream=1)
    flat = FlatIndex(LAYOUT)
    flat.add(codes)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL
    )
    with cluster, Client(cluster) as client:
        result = {
            "encode": encoding(sizes, folder),
            "search": searching(sizes, folder, codes, queries, flat),
            "fanout": fanning_out(sizes, folder, codes, queries[:1]),
            "loss": losing(folder, codes, queries, flat, client),
        }
    result["node"] = one_node(sizes, folder, queries, flat)
    result["merge"] = [row for n in sizes.merged for row in merging(n, sizes.fan_ins, codes, queries, flat)]
    return result


def report(row: dict[str, Any]) -> dict[str, Any]:
    print({key: value for key, value in row.items() if key != "samples"}, flush=True)
    return row


# -- with a cluster ----------------------------------------------------------------------------------------------------


def encoding(sizes: Sizes, folder: Path) -> list[dict[str, Any]]:
    """Vectors in .npy files to codes in this process: mapped, encoded, gathered.

    "Two processes" is what the machine gives without Dask: each encodes half of the files and sends the codes back.
    """
    paths = []
    rng = np.random.default_rng(0)
    for i in range(sizes.vectors // sizes.block):
        paths.append(folder / f"vectors-{i}.npy")
        np.save(paths[-1], rng.standard_normal((sizes.block, FEATURES), dtype=np.float32))
    hasher = LSH(128, random_state=0).fit(np.load(paths[0])[:1000])
    load = dask.delayed(np.load)
    blocks = [load(str(path), mmap_mode="r") for path in paths]
    parts = [da.from_delayed(block, (sizes.block, FEATURES), np.float32) for block in blocks]
    lazy = encode(da.concatenate(parts), hasher)

    def alone(n_threads: int) -> Any:
        return np.concatenate([hasher.encode(np.load(path, mmap_mode="r"), n_threads=n_threads) for path in paths])

    hasher.save(folder / "hasher.safetensors")
    started = [str(folder / "hasher.safetensors")]
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
    return [report(row | {"seconds": times, "samples": samples})]


def _start(path: str) -> None:
    """What a process of the pool begins with."""
    global _hasher
    _hasher = load_hasher(path)


def _encode_file(path: Path) -> Any:
    return _hasher.encode(np.load(path, mmap_mode="r"), n_threads=1)


def searching(sizes: Sizes, folder: Path, codes: Any, queries: Any, flat: FlatIndex) -> list[dict[str, Any]]:
    """A batch of queries over all codes, in two processes and in two threads of this one."""
    rows = []
    for n_shards in sizes.shards:
        with shards_of(folder, codes, n_shards) as index:
            contenders = {
                "native": lambda: flat.search(queries, K, n_threads=2),
                "dask": lambda index=index: index.search(queries, K),
            }
            agree = same(index.search(queries, K), flat.search(queries, K))
            samples = interleave(contenders, sizes.repeats)["wall"]
        added = [dask - native for dask, native in zip(samples["dask"], samples["native"], strict=True)]
        row = {"codes": len(codes), "queries": len(queries), "shards": n_shards, "agree": agree}
        row |= {"seconds": {name: median(times) for name, times in samples.items()}}
        rows.append(report(row | {"added_ms": 1e3 * median(added), "samples": samples}))
    return rows


def fanning_out(sizes: Sizes, folder: Path, codes: Any, query: Any) -> list[dict[str, Any]]:
    """One query over few codes in more and more shards: what the scheduler costs."""
    rows = []
    few = codes[: 100 * max(sizes.fanout)]
    for n_shards in sizes.fanout:
        with shards_of(folder, few, n_shards) as index:
            samples = interleave({"dask": lambda index=index: index.search(query, K)}, sizes.repeats)["wall"]["dask"]
        rows.append(report({"shards": n_shards, "milliseconds": 1e3 * median(samples), "samples": samples}))
    return rows


def losing(folder: Path, codes: Any, queries: Any, flat: FlatIndex, client: Client) -> list[dict[str, Any]]:
    """A search right after one of the two workers was killed."""
    with shards_of(folder, codes, 4) as index:
        index.search(queries, K)
        start = time.perf_counter()
        index.search(queries, K)
        usual = time.perf_counter() - start
        worker = sorted(client.nthreads())[0]
        os.kill(client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)
        start = time.perf_counter()
        found = index.search(queries, K)
        seconds = time.perf_counter() - start
    row = {"codes": len(codes), "queries": len(queries), "shards": 4, "agree": same(found, flat.search(queries, K))}
    return [report(row | {"seconds": {"usual": usual, "after the loss": seconds}})]


def shards_of(folder: Path, codes: Any, n_shards: int) -> DaskIndex:
    """The codes in as many files, loaded by the workers."""
    place = folder / f"codes-{n_shards}-{len(codes)}"
    if not place.exists():
        place.mkdir()
        for i, part in enumerate(np.array_split(codes, n_shards)):
            np.save(place / f"{i:04d}.npy", part)
    return DaskIndex.from_files(place, LAYOUT)


def same(one: Neighbors, other: Neighbors) -> bool:
    return bool((one.ids == other.ids).all() and (one.distances == other.distances).all())


# -- in this process ---------------------------------------------------------------------------------------------------


def one_node(sizes: Sizes, folder: Path, queries: Any, flat: FlatIndex) -> list[dict[str, Any]]:
    """What one core does: codes compared, bytes held, files loaded."""
    path = folder / "flat.rankhash"
    flat.save(path)
    contenders = {
        "batch": lambda: flat.search(queries, K, n_threads=1),
        "single": lambda: flat.search(queries[:1], K, n_threads=1),
        "load": lambda: FlatIndex.load(path),
        "map": lambda: FlatIndex.load(path, mmap=True, verify=False),
    }
    samples = interleave(contenders, max(2, sizes.repeats // 3))["process"]
    path.unlink()
    row = {"codes": len(flat), "queries": len(queries), "bits": LAYOUT.bits, "bytes_a_code": flat.nbytes / len(flat)}
    row["ns_a_code_and_query"] = {
        "batch": 1e9 * median(samples["batch"]) / len(flat) / len(queries),
        "single": 1e9 * median(samples["single"]) / len(flat),
    }
    row["load_seconds"] = {"checked": median(samples["load"]), "mapped": median(samples["map"])}
    return [report(row | {"samples": samples})]


def merging(n_shards: int, fan_ins: tuple[int, ...], codes: Any, queries: Any, flat: FlatIndex) -> list[dict[str, Any]]:
    """Answers of real shards through trees of merges."""
    parts, start = [], 0
    for part in np.array_split(codes, n_shards):
        shard = FlatIndex(LAYOUT)
        shard.add(part)
        found = shard.search(queries, K, n_threads=1)
        parts.append(Neighbors(np.where(found.ids >= 0, found.ids + start, -1), found.distances))
        start += len(part)
    expected = flat.search(queries, K)
    rows = []
    for fan_in in fan_ins:
        row = {"shards": n_shards, "fan_in": fan_in, "used": fan_in == FAN_IN, "queries": len(queries), "k": K}
        found, facts = merged(parts, fan_in)
        rows.append(report(row | facts | {"agree": same(found, expected)}))
    return rows


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


if __name__ == "__main__":
    sys.exit(main())

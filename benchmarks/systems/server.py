"""How many searches per second ``rankhash serve`` answers, how fast, and for how long: one core, loopback only.

The server runs in a process of its own on one core, the client on the others. The collection holds codes of 64 bits of
SIFT vectors and of noisy copies of them; without the data, of handwritten digits.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import sets
from harness.http_load import Connection, Tally, closed, opened, request
from harness.processes import resident_megabytes
from harness.results import Facts, Row
from harness.running import Run
from rankhash import RSH, Collection
from rankhash._types import F32

PROGRAM = "from rankhash.cli import main; main()"
K, BATCH, N_QUERIES, BITS = 10, 64, 4096, 64
GOALS = {"json": 1500, "binary": 20_000}
"""Queries a second that the project set out to reach; half of them is the load at which latency counts."""


CLOSED = (("json", 1), ("json", 64), ("binary", 1), ("binary", 8))
OPEN = (("json", 64, GOALS["json"] / 2), ("binary", 8, GOALS["binary"] / 2 / BATCH))


@dataclass(frozen=True)
class Sizes:
    """Items of the collection, seconds of a case, idle connections, and seconds of the soak test."""

    n: int
    seconds: float
    idle: int
    soak: float


FULL, QUICK = Sizes(1_000_000, 10.0, 10_000, 600.0), Sizes(2000, 0.3, 200, 1.0)


def rows(run: Run) -> Iterator[Row]:
    """One row per kind of request, number of clients and rate; then idle connections, and a soak test."""
    sizes = QUICK if run.quick else FULL
    known = not run.quick and (run.data / sets.FILES["sift"][0]).exists()
    collection = {"n": sizes.n, "set": "sift" if known else "digits", "bits": BITS, "k": K, "batch": BATCH}
    wanted = list(run.wanted(_keys()))
    if not wanted:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "items.rankhash"
        queries = fill(path, sizes.n, str(collection["set"]), run.data)
        with server(path, queries) as target:
            while not _ready(target.port):
                time.sleep(0.05)
            right = check(target, path, queries)
            for key in wanted:
                values = _measured(target, sizes, **key)
                failed = values["errors"]
                yield Row(key, values | {"agree": right and not failed, "collection": collection})


def _keys() -> list[Facts]:
    keys: list[Facts] = [{"what": "closed", "kind": kind, "clients": clients} for kind, clients in CLOSED]
    keys += [
        {"what": "open", "kind": kind, "clients": clients, "rate": rate, "evenly": evenly}
        for kind, clients, rate in OPEN
        for evenly in (False, True)
    ]
    return [*keys, {"what": "idle"}, {"what": "soak"}]


def _measured(target: Target, sizes: Sizes, what: str, **case: Any) -> Facts:
    if what == "idle":
        return idle(target, sizes.idle, sizes.seconds)
    if what == "soak":
        return soak(target, sizes.soak, GOALS["json"] / 2)
    return measure(target, seconds=sizes.seconds, **case)


@dataclass
class Target:
    """A server that runs, and requests for it."""

    port: int
    pid: int
    json: Sequence[bytes]
    binary: Sequence[bytes]

    def cpu(self) -> float:
        """Seconds that the server has worked."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Memory that the server holds."""
        return round(resident_megabytes(self.pid) * 1e6 / 2**20, 1)


def fill(path: Path, n: int, name: str, folder: Path) -> F32:
    """Make the collection; returns query vectors that are not in it."""
    rng = np.random.default_rng(20262)
    X = sets.load(folder, name).vectors.astype(np.float32)
    X = X[rng.permutation(len(X))]
    held = min(N_QUERIES, len(X) // 4)
    queries, base = X[:held], X[held:]
    hasher = RSH(n_symbols=32, arity=4, random_state=0).fit(base[:20_000])
    with Collection.create(path, hasher) as collection:
        for part in sets.noisy_copies(base, n, 0.05 * float(base.std()), rng):
            collection.add(part)
    return np.resize(queries, (N_QUERIES, X.shape[1]))


@contextlib.contextmanager
def server(path: Path, queries: F32) -> Iterator[Target]:
    """A server of the collection, on the first core."""
    cores = sorted(os.sched_getaffinity(0))
    command = [sys.executable, "-c", PROGRAM, "serve", str(path), "--port", "0", "--threads", "1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        os.sched_setaffinity(process.pid, cores[:1])
        os.sched_setaffinity(0, cores[1:] or cores)
        try:
            assert process.stderr is not None
            port = next(int(m[1]) for line in process.stderr if (m := re.search(r"http://127\.0\.0\.1:(\d+)", line)))
            search = f"/v1/collections/{path.stem}/search"
            rows = [json.dumps({"vector": row, "k": K}).encode() for row in queries.round(4).tolist()]
            parts = [queries[i : i + BATCH].astype("<f4").tobytes() for i in range(0, len(queries), BATCH)]
            binary = "application/octet-stream"
            yield Target(
                port,
                process.pid,
                [request(search, row, "application/json") for row in rows],
                [request(f"{search}?k={K}", part, binary, f"accept: {binary}") for part in parts],
            )
        finally:
            process.terminate()
            process.wait(60)
            os.sched_setaffinity(0, cores)


def measure(
    target: Target, kind: str, clients: int, seconds: float, rate: float | None = None, *, evenly: bool = False
) -> Facts:
    """Clients that never rest (``rate`` None), or ``rate`` requests per second at random times or evenly."""
    requests = target.json if kind == "json" else target.binary
    queries = 1 if kind == "json" else BATCH
    asyncio.run(closed(target.port, requests, clients, min(1.0, seconds)))
    before = target.cpu()
    if rate is None:
        tally = asyncio.run(closed(target.port, requests, clients, seconds))
    else:
        tally = asyncio.run(opened(target.port, requests, clients, seconds, rate, evenly=evenly))
    record = tally.summary(queries)
    answered = max(1, record["requests"])
    record["cpu_us_per_query"] = round(1e6 * (target.cpu() - before) / (answered * queries), 1)
    return record


def check(target: Target, path: Path, queries: F32) -> bool:
    """Whether the server answers as the collection does, in JSON and in binary."""
    wrong: list[int] = []
    bodies: list[bytes] = []

    class Keeping(Connection):
        def data_received(self, data: bytes) -> None:
            """Keep it, too."""
            bodies.append(data)
            super().data_received(data)

    async def ask(message: bytes) -> bytes:
        bodies.clear()
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[int] = loop.create_future()

        def finish(_: Connection, status: int) -> None:
            if not answered.done():
                answered.set_result(status)

        _, connection = await loop.create_connection(lambda: Keeping(finish), "127.0.0.1", target.port)
        connection.send(message, 0.0)
        wrong.extend([1] if await answered != 200 else [])
        connection.transport.close()
        return b"".join(bodies).partition(b"\r\n\r\n")[2]

    with Collection.open(path) as collection:
        expected = collection.search(queries[:BATCH].round(4), K).ids
        raw = collection.search(queries[:BATCH], K).ids
    for i in range(BATCH):
        answer = json.loads(asyncio.run(ask(target.json[i])))
        wrong += [i] if [match["id"] for match in answer["results"][0]["matches"]] != expected[i].tolist() else []
    data = asyncio.run(ask(target.binary[0]))
    wrong += [-1] if np.frombuffer(data[: 8 * BATCH * K], "<i8").tolist() != raw.ravel().tolist() else []
    return not wrong


def idle(target: Target, n: int, seconds: float) -> Facts:
    """Latency while ``n`` others are connected and send nothing, or half of a request."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    n = min(n, hard - 200)
    halves = (b"", b"GET /healthz HT", b"POST /v1/collections/x/search HTTP/1.1\r\ncontent-length: 99\r\n\r\n{")

    async def run() -> tuple[int, Tally]:
        loop = asyncio.get_running_loop()
        silent = []
        for start in range(0, n, 200):
            some = [
                loop.create_connection(lambda: Connection(lambda *_: None), "127.0.0.1", target.port)
                for _ in range(start, min(start + 200, n))
            ]
            silent += [connection for _, connection in await asyncio.gather(*some)]
        for i, connection in enumerate(silent):
            if connection.transport is not None and i % 10 == 0:
                connection.transport.write(halves[i // 10 % 3])
        tally = await closed(target.port, target.json, 8, seconds)
        left = sum(connection.transport is not None for connection in silent)
        for connection in silent:
            if connection.transport is not None:
                connection.transport.abort()
        return left, tally

    left, tally = asyncio.run(run())
    return {"connections": n, "open_at_the_end": left, "clients": 8, **tally.summary(1)}


def soak(target: Target, seconds: float, rate: float) -> Facts:
    """Memory and errors over a long time at a steady rate; JSON and binary take turns."""
    step = max(2.0, min(30.0, seconds / 20))
    samples, requests, errors, slowest = [target.megabytes()], 0, 0, 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for kind, share in (("json", 0.8), ("binary", 0.2)):
            at = rate if kind == "json" else rate / BATCH
            record = measure(target, kind, 16, step * share, at)
            requests += record["requests"]
            errors += sum(record["errors"].values())
            slowest = max(slowest, record["p99_ms"] or 0.0)
        samples.append(target.megabytes())
    quarter = max(1, len(samples) // 4)
    return {
        "seconds": seconds,
        "requests": requests,
        "errors": errors,
        "worst_p99_ms": slowest,
        "megabytes": samples,
        "growth_megabytes": round(
            float(np.median(samples[-quarter:]) - np.median(samples[quarter : 2 * quarter] or samples)), 1
        ),
    }


def _ready(port: int) -> bool:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200

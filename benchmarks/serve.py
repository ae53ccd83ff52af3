"""How many searches a second does ``rankhash serve`` answer, how fast, and for how long? One core, this machine only.

    python benchmarks/serve.py [--n 1000000] [--data DIR] [--seconds 10] [--idle 10000] [--soak 600] [--quick]

The server runs in a process of its own on one core, the client on the others. The collection holds codes of 64 bits of
SIFT vectors, and of noisy copies of them where there are too few; without the data, of handwritten digits. Raw results
go to ``results/serve.json``. The exit code is 1 if an answer was wrong or a request failed.
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
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sets
from load import Connection, Tally, closed, opened, request
from machine import provenance, refuse_private_names
from rankhash import RSH, Collection

RESULTS = Path(__file__).parent / "results"
PROGRAM = "from rankhash.cli import main; main()"
K, BATCH, N_QUERIES, CHUNK = 10, 64, 4096, 100_000
GOALS = {"json": 1500, "binary": 20_000}
"""Queries a second that the project set out to reach; half of them is the load at which latency counts."""


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
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def fill(path: Path, n: int, name: str, folder: Path) -> np.ndarray[Any, Any]:
    """Make the collection; returns query vectors that are not in it."""
    rng = np.random.default_rng(20262)
    X = sets.load(folder, name)[0].astype(np.float32)
    X = X[rng.permutation(len(X))]
    held = min(N_QUERIES, len(X) // 4)
    queries, base = X[:held], X[held:]
    hasher = RSH(n_symbols=32, arity=4, random_state=0).fit(base[:20_000])
    spread = 0.05 * base.std()
    with Collection.create(path, hasher) as collection:
        for start in range(0, n, CHUNK):
            rows = np.arange(start, min(start + CHUNK, n))
            part = base[rows % len(base)]
            noisy = rows >= len(base)
            part[noisy] += spread * rng.standard_normal((int(noisy.sum()), base.shape[1]), dtype=np.float32)
            collection.add(part)
    return np.resize(queries, (N_QUERIES, X.shape[1]))


@contextlib.contextmanager
def server(path: Path, queries: np.ndarray[Any, Any]) -> Iterator[Target]:
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
) -> dict[str, Any]:
    """One record: so many clients who never rest, or so many requests a second, at random times or evenly."""
    requests = target.json if kind == "json" else target.binary
    queries = 1 if kind == "json" else BATCH
    asyncio.run(closed(target.port, requests, clients, min(1.0, seconds)))
    before = target.cpu()
    if rate is None:
        tally = asyncio.run(closed(target.port, requests, clients, seconds))
    else:
        tally = asyncio.run(opened(target.port, requests, clients, seconds, rate, evenly=evenly))
    record = {"kind": kind, "clients": clients, "rate": rate, "evenly": evenly, **tally.summary(queries)}
    answered = max(1, record["requests"])
    record["cpu_us_per_query"] = round(1e6 * (target.cpu() - before) / (answered * queries), 1)
    return record


def check(target: Target, path: Path, queries: np.ndarray[Any, Any]) -> bool:
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
        answered = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: Keeping(lambda _, status: answered.done() or answered.set_result(status)), "127.0.0.1", target.port
        )
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


def idle(target: Target, n: int, seconds: float) -> dict[str, Any]:
    """Latency while so many others are connected and say nothing, or half of something."""
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


def soak(target: Target, seconds: float, rate: float) -> dict[str, Any]:
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


def run(options: Any, folder: Path) -> dict[str, Any]:
    """All records."""
    path = folder / "items.rankhash"
    queries = fill(path, options.n, options.set, options.data)
    with server(path, queries) as target:
        while not _ready(target.port):
            time.sleep(0.05)
        result: dict[str, Any] = {
            "n": options.n,
            "set": options.set,
            "bits": 64,
            "k": K,
            "batch": BATCH,
            "goals": GOALS,
        }
        result["agree"] = check(target, path, queries)
        cases = [("json", 1, None, False), ("json", 64, None, False), ("binary", 1, None, False)]
        cases += [("binary", 8, None, False)]
        halves = (("json", 64, GOALS["json"] / 2), ("binary", 8, GOALS["binary"] / 2 / BATCH))
        cases += [(*half, evenly) for half in halves for evenly in (False, True)]
        result["records"] = []
        for kind, clients, rate, evenly in cases:
            result["records"].append(measure(target, kind, clients, options.seconds, rate, evenly=evenly))
            print(result["records"][-1], flush=True)
        result["idle"] = idle(target, options.idle, options.seconds)
        print(result["idle"], flush=True)
        if options.soak:
            result["soak"] = soak(target, options.soak, GOALS["json"] / 2)
            print(result["soak"], flush=True)
    return result


def _ready(port: int) -> bool:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    sets.add_data_option(parser)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each case")
    parser.add_argument("--idle", type=int, default=10_000, help="connections that say nothing")
    parser.add_argument("--soak", type=float, default=0.0, help="seconds; 600 for ten minutes")
    parser.add_argument("--quick", action="store_true", help="small data: shows that everything runs")
    parser.add_argument("--out", type=Path, default=RESULTS / "serve.json")
    options = parser.parse_args()
    if options.quick:
        options.n, options.seconds, options.idle = 2000, 0.3, 200
        options.soak = min(options.soak, 2.0)
    known = not options.quick and (options.data / sets.FILES["sift"][0]).exists()
    options.set = "sift" if known else "digits"
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        result = run(options, Path(folder))
    load = [round(load, 2), round(os.getloadavg()[0], 2)]
    text = json.dumps({"provenance": provenance(), "quick": options.quick, "load": load, **result}, indent=1) + "\n"
    refuse_private_names(text)
    options.out.write_text(text, encoding="utf-8")
    failed = [record for record in (*result["records"], result["idle"]) if record["errors"]]
    return 0 if result["agree"] and not failed and not result.get("soak", {}).get("errors") else 1


if __name__ == "__main__":
    sys.exit(main())

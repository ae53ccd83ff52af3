"""Two servers of one collection for a long time: writers, readers, filters, kills, compaction, and a full disk.

Both servers change the same file. One is killed with SIGKILL at random moments and started again; the other one lives
until the end, and its memory is watched. A third process compacts the file now and then, since replaced and deleted
items would fill the disk. For a while the disk is full. A request that was not acknowledged must have
been done whole or not at all; at the end the file must hold exactly what was acknowledged.
"""

from __future__ import annotations

import contextlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from harness.results import Facts, Row
from harness.running import Run
from rankhash import Collection
from systems._soak_clients import Ledger, Load, Tally, Versions, vectors_of
from systems._soak_servers import PROGRAM, CpuUsage, ServerProcess

SEED = 0


@dataclass(frozen=True)
class Sizes:
    """How long, how large, and how often."""

    seconds: float
    n_features: int
    base: int
    """Items that nobody changes"""
    per_writer: int
    """Items of a writer, about"""
    between_kills: float
    """Seconds, on average"""
    disk: int
    """Bytes of the file system, if one can be mounted"""
    pause: float
    """Seconds between two requests of one client"""


FULL = Sizes(3600, 256, 15_000, 1500, 25.0, 400 << 20, 0.15)
QUICK = Sizes(10, 16, 500, 60, 2.0, 32 << 20, 0.01)
COMPACTIONS = 24
"""How often the file is compacted"""
DISK_FULL = (0.4, 0.45)
"""From when to when the disk is full, as shares of the time"""


def rows(run: Run) -> Iterator[Row]:
    """One row per seed of the changes and of the moments."""
    for key in run.wanted([{"seed": SEED}]):
        yield Row(key, soak(QUICK if run.quick else FULL, key["seed"]))


def soak(sizes: Sizes, seed: int) -> Facts:
    """What happened; ``failures`` must be empty."""
    with tempfile.TemporaryDirectory() as folder, _disk(Path(folder), sizes.disk) as disk:
        path = disk.folder / "items.rankhash"
        create(path, sizes)
        usage = CpuUsage()
        watch = _Watch(sizes, disk, path)
        steady, killed = (ServerProcess(path, Path(folder) / f"{name}.log") for name in ("steady", "killed"))
        load = Load([steady, killed], sizes.per_writer, sizes.n_features, sizes.base, sizes.pause, seed)
        try:
            steady.start()
            killed.start()
            load.start()
            watch.run(steady, killed, random.Random(seed))
            load.stop()
            watch.codes = [server.end() for server in (steady, killed) if server.is_running]
        finally:
            load.stop()
            steady.kill()
            killed.kill()
        tally = load.tally
        if any(watch.codes):
            tally.failures.append(f"servers ended with {watch.codes}")
        others = usage.cores_of_others()
        verify(path, load.ledgers, sizes, tally)
        return _facts(sizes, watch, tally) | {"cores_of_others": round(others, 2)}


def create(path: Path, sizes: Sizes) -> None:
    names = [f"base-{i}" for i in range(sizes.base)]
    fields = [{"writer": -1, "n": i, "version": 0} for i in range(sizes.base)]
    with Collection.create(path, metric="euclidean") as collection:
        for at in range(0, sizes.base, 1000):
            some = names[at : at + 1000]
            collection.add(vectors_of(some, [0] * len(some), sizes.n_features), some, fields[at : at + 1000])


def verify(path: Path, ledgers: list[Ledger], sizes: Sizes, tally: Tally) -> None:
    """Compare the file with everything that was acknowledged."""
    expected: dict[int | str, int] = {f"base-{i}": 0 for i in range(sizes.base)}
    with Collection.open(path) as collection:
        tally.failures += collection.check().problems
        names = collection.ids()
        for ledger in ledgers:
            if ledger.unsure is not None:  # the end came before the writer could look
                ledger.settle(_versions(collection, ledger.unsure), tally)
            expected.update(ledger.items)
        lost, unknown = expected.keys() - {*names}, {*names} - expected.keys()
        tally.failures += [f"lost {name}" for name in sorted(lost)[:20]]
        tally.failures += [f"{name} was deleted" for name in sorted(map(str, unknown))[:20]]
        for at in range(0, len(names), 1000):
            items = [item for item in collection.get(names[at : at + 1000]) if item.id in expected]
            right = vectors_of(
                [str(item.id) for item in items], [expected[item.id] for item in items], sizes.n_features
            )
            for item, vector in zip(items, right, strict=True):
                fields = item.metadata or {}
                if fields.get("version") != expected[item.id] or (item.vector != vector).any():
                    tally.failures.append(f"{item.id} is not of version {expected[item.id]}")
        tally.counts["items at the end"] = len(names)


def _versions(collection: Collection, wanted: Iterable[str]) -> Versions:
    there = [name for name in wanted if name in collection]
    found = {str(item.id): (item.metadata or {})["version"] for item in collection.get(there)}
    return {name: found.get(name) for name in wanted}


@dataclass
class _Disk:
    """A folder, and how its disk becomes full; without the right to mount, files may not grow instead."""

    folder: Path
    mounted: bool

    def fill(self, servers: list[ServerProcess]) -> None:
        if not self.mounted:
            size = max(file.stat().st_size for file in self.folder.iterdir())
            for server in servers:
                server.limit(size)
            return
        with contextlib.suppress(OSError), open(self.folder / "ballast", "wb", buffering=0) as file:
            for n_bytes in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while file.write(bytes(n_bytes)):
                        pass

    def free(self, servers: list[ServerProcess]) -> None:
        (self.folder / "ballast").unlink(missing_ok=True)
        for server in servers:
            server.limit(resource.RLIM_INFINITY)


@contextlib.contextmanager
def _disk(folder: Path, n_bytes: int) -> Iterator[_Disk]:
    place = folder / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "none", str(place)]
    can = shutil.which("mount") is not None
    mounted = can and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield _Disk(place, mounted)
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)


@dataclass
class _Watch:
    """Kills, fills the disk, and looks at the memory."""

    sizes: Sizes
    disk: _Disk
    path: Path
    kills: int = 0
    failed_starts: int = 0
    compactions: Counter[str] = field(default_factory=Counter)
    codes: list[int] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    file_megabytes: list[float] = field(default_factory=list)

    def run(self, steady: ServerProcess, killed: ServerProcess, rng: random.Random) -> None:
        """Until the time is over."""
        began, both = time.monotonic(), [steady, killed]
        begin, end = (share * self.sizes.seconds for share in DISK_FULL)
        events: list[tuple[float, Callable[[], None]]] = [
            (begin, lambda: self.disk.fill(both)),
            (end, lambda: self.disk.free(both)),
        ]
        next_kill, next_look, next_compaction = self._pause(rng), 0.0, self.sizes.seconds / COMPACTIONS
        while (now := time.monotonic() - began) < self.sizes.seconds:
            if events and now >= events[0][0]:
                events.pop(0)[1]()
            if now >= next_look:
                self._look(steady)
                next_look = now + self.sizes.seconds / 200
            if now >= next_compaction:
                self._compact()
                next_compaction = now + self.sizes.seconds / COMPACTIONS
            if killed.is_running and now >= next_kill and now < 0.98 * self.sizes.seconds:
                killed.kill()
                self.kills += 1
                next_kill = now + self._pause(rng)
            if not killed.is_running and not killed.start():
                self.failed_starts += 1
            if not steady.is_running:
                raise RuntimeError("the server that nobody killed has ended")
            time.sleep(0.05)
        if not killed.is_running and not killed.start():
            self.failed_starts += 1

    def _compact(self) -> None:
        command = [sys.executable, "-c", PROGRAM, "compact", str(self.path)]
        done = subprocess.run(command, capture_output=True, check=False)
        self.compactions["refused" if done.returncode else "done"] += 1

    def _pause(self, rng: random.Random) -> float:
        return rng.uniform(0.2, 1.8) * self.sizes.between_kills

    def _look(self, steady: ServerProcess) -> None:
        self.megabytes.append(steady.megabytes())
        log = Path(f"{self.path}-wal")
        size = self.path.stat().st_size + (log.stat().st_size if log.exists() else 0)
        self.file_megabytes.append(round(size / 1e6, 1))


def _facts(sizes: Sizes, watch: _Watch, tally: Tally) -> Facts:
    quarter = max(1, len(watch.megabytes) // 4)
    early, late = watch.megabytes[quarter : 2 * quarter], watch.megabytes[-quarter:]
    times = {kind: np.array(some) for kind, some in sorted(tally.milliseconds.items())}
    return {
        "seconds": sizes.seconds,
        "full_disk": "a file system without space" if watch.disk.mounted else "files that may not grow",
        "kills": watch.kills,
        "starts_that_failed": watch.failed_starts,
        "compactions": dict(sorted(watch.compactions.items())),
        "counts": dict(sorted(tally.counts.items())),
        "requests": {kind: len(some) for kind, some in times.items()},
        "p50_ms": {kind: round(float(np.quantile(some, 0.5)), 1) for kind, some in times.items()},
        "p99_ms": {kind: round(float(np.quantile(some, 0.99)), 1) for kind, some in times.items()},
        "megabytes": watch.megabytes,
        "growth_megabytes": round(float(np.median(late) - np.median(early or late)), 1),
        "file_megabytes": [watch.file_megabytes[0], max(watch.file_megabytes), watch.file_megabytes[-1]],
        "failures": tally.failures[:50],
        "agree": not tally.failures,
    }

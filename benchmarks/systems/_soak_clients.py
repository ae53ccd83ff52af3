"""Clients of the servers of a soak test: writers that know what must be there, and readers that check answers."""

from __future__ import annotations

import contextlib
import random
import threading
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from rankhash import UnknownIdError
from rankhash._types import F32
from rankhash.client import Client, RemoteCollection
from rankhash.errors import RankhashError
from systems._soak_servers import TOKEN, ServerProcess

Versions = dict[str, int | None]
"""The version of each item; None if it is not there"""


def vectors_of(names: Sequence[str], versions: Sequence[int], n_features: int) -> F32:
    """The vectors of items, each drawn from its name and version."""
    seeds = [zlib.crc32(f"{name},{version}".encode()) for name, version in zip(names, versions, strict=True)]
    rows = [np.random.default_rng(seed).normal(size=n_features) for seed in seeds]
    return np.array(rows, np.float32).reshape(-1, n_features)


@dataclass
class Tally:
    """What all clients saw."""

    counts: Counter[str] = field(default_factory=Counter)
    milliseconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def timed(self, kind: str, call: Callable[[], object]) -> None:
        """Make a request and keep how long it took, if it was answered."""
        began = time.perf_counter()
        call()
        with self.lock:
            self.milliseconds[kind].append(round(1e3 * (time.perf_counter() - began), 2))

    def count(self, what: str) -> None:
        """One more of these."""
        with self.lock:
            self.counts[what] += 1


@dataclass
class Ledger:
    """What one writer did: its items, and the version of each."""

    number: int
    items: dict[str, int] = field(default_factory=dict)
    n: int = 0
    unsure: Versions | None = None
    """The versions after a change that was sent and not acknowledged"""

    def plan(self, rng: random.Random, size: int) -> tuple[str, Versions]:
        """A change, and the versions after it."""
        kinds = ["add", "upsert", "delete"]
        kind = rng.choices(kinds, [4, 3, 2 if len(self.items) < size else 8])[0] if self.items else "add"
        n = rng.choice([1, 2, 10, 50])
        if kind == "add":
            self.n += n
            return kind, {f"w{self.number}-{i}": 0 for i in range(self.n - n, self.n)}
        some = rng.sample(sorted(self.items), min(n, len(self.items)))
        return kind, {name: self.items[name] + 1 if kind == "upsert" else None for name in some}

    def take(self, after: Versions) -> None:
        """Keep a change that was done."""
        for name, version in after.items():
            if version is None:
                self.items.pop(name)
            else:
                self.items[name] = version

    def settle(self, found: Versions, tally: Tally) -> None:
        """Keep what became of the change that was not acknowledged: all of it, or nothing."""
        after, self.unsure = self.unsure or {}, None
        if found == after:
            self.take(after)
            tally.count("not acknowledged, and kept whole")
        elif found == {name: self.items.get(name) for name in after}:
            tally.count("not acknowledged, and not kept")
        else:
            tally.failures.append(f"a change was kept by halves: {found}, not {after}")


class Load:
    """Two writers, a reader and a reader with filters per server."""

    def __init__(
        self, servers: list[ServerProcess], per_writer: int, n_features: int, base: int, pause: float, seed: int
    ) -> None:
        self.tally = Tally()
        self.ledgers = [Ledger(i) for i in range(2 * len(servers))]
        self._size, self._n_features, self._base, self._pause = per_writer, n_features, base, pause
        self._over = threading.Event()
        works = [
            (work, server)
            for i, server in enumerate(servers)
            for work in (self._writer(2 * i), self._writer(2 * i + 1), self._search, self._filter)
        ]
        self._threads = [
            threading.Thread(target=self._run, args=(work, server, random.Random(f"{seed},{place}")))
            for place, (work, server) in enumerate(works)
        ]

    def start(self) -> None:
        """Start all clients."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all clients, each after its request."""
        self._over.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _run(
        self, work: Callable[[RemoteCollection, random.Random], None], server: ServerProcess, rng: random.Random
    ) -> None:
        port, client = 0, Client()
        while not self._over.wait(self._pause * rng.uniform(0.5, 1.5)):
            if server.port != port:
                client.close()
                port = server.port
                client = Client(f"http://127.0.0.1:{port}", token=TOKEN, retries=0)
            try:
                work(client.collection("items"), rng)
            except RankhashError:
                self.tally.count("searches not answered")
                self._over.wait(20 * self._pause)
            except Exception as error:
                self.tally.failures.append(f"{type(error).__name__}: {error}")
        client.close()

    def _writer(self, number: int) -> Callable[[RemoteCollection, random.Random], None]:
        ledger = self.ledgers[number]

        def work(items: RemoteCollection, rng: random.Random) -> None:
            if ledger.unsure is not None:
                with contextlib.suppress(RankhashError):  # asked again, or at the end
                    ledger.settle({name: _version(items, name) for name in ledger.unsure}, self.tally)
                return
            kind, ledger.unsure = ledger.plan(rng, self._size)
            try:
                self.tally.timed("changes", partial(self._change, items, kind, ledger.unsure, ledger.number))
            except RankhashError as error:
                self.tally.count(f"changes not acknowledged: {getattr(error, 'code', 'connection lost')}")
                self._over.wait(20 * self._pause)
                return
            ledger.take(ledger.unsure)
            ledger.unsure = None
            self.tally.count("changes acknowledged")

        return work

    def _change(self, items: RemoteCollection, kind: str, after: Versions, writer: int) -> None:
        names = [*after]
        if kind == "delete":
            items.delete(names)
            return
        versions = [version or 0 for version in after.values()]
        fields = [
            {"writer": writer, "n": int(name.partition("-")[2]), "version": version}
            for name, version in zip(names, versions, strict=True)
        ]
        change = items.add if kind == "add" else items.upsert
        change(vectors_of(names, versions, self._n_features), names, fields)

    def _search(self, items: RemoteCollection, rng: random.Random) -> None:
        """Items that nobody changes are found by their own vectors."""
        names = [f"base-{rng.randrange(self._base)}" for _ in range(4)]
        queries = vectors_of(names, [0] * len(names), self._n_features)

        def ask() -> None:
            for name, matches in zip(names, items.search(queries, 10, metadata=True), strict=True):
                self._check(matches[0].id == name, f"{matches[0].id} was found for {name}")
                self._check(all(_is_own(match.id, match.metadata) for match in matches), "metadata of another item")

        self.tally.timed("searches", ask)

    def _filter(self, items: RemoteCollection, rng: random.Random) -> None:
        """A filter that was not asked before; every match passes it."""
        low = rng.randrange(self._base)
        where = f"n >= {low} and n < {low + 400} and (writer = -1 or version >= 1)"
        query = vectors_of([f"base-{low}"], [0], self._n_features)

        def ask() -> None:
            for match in items.search(query, 10, where=where, metadata=True)[0]:
                fields = match.metadata or {}
                passes = low <= fields["n"] < low + 400 and (fields["writer"] == -1 or fields["version"] >= 1)
                self._check(passes, f"{fields} does not pass {where}")

        self.tally.timed("searches with a filter", ask)

    def _check(self, fine: bool, what: str) -> None:
        if not fine:
            self.tally.failures.append(what)


def _version(items: RemoteCollection, name: str) -> int | None:
    try:
        return int(items.get(name)["metadata"]["version"])
    except UnknownIdError:
        return None


def _is_own(name: int | str, fields: dict[str, object] | None) -> bool:
    """Whether metadata are those of the item."""
    owner, _, n = str(name).partition("-")
    wanted = -1 if owner == "base" else int(owner[1:])
    return fields is not None and fields["writer"] == wanted and fields["n"] == int(n)

"""A small HTTP client that measures a server: raw sockets on one event loop, requests prepared beforehand.

::

    closed(…)   every client sends its next request when the last one was answered: how much the server can do
    opened(…)   requests start at times drawn beforehand, whatever the server does: how long they then take,
                counted from the time at which they should have started
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Tally:
    """What came back."""

    seconds: list[float] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    started: float = 0.0
    ended: float = 0.0

    def fail(self, what: str) -> None:
        """Count an answer that is none."""
        self.errors[what] = self.errors.get(what, 0) + 1

    def summary(self, queries: int) -> dict[str, Any]:
        """Rates and percentiles of requests with ``n_queries`` queries each."""
        ordered = sorted(self.seconds)
        elapsed = self.ended - self.started
        place = {"p50": 0.50, "p99": 0.99, "p999": 0.999}
        shown = {
            f"{name}_ms": round(1e3 * ordered[min(len(ordered) - 1, int(q * len(ordered)))], 3) if ordered else None
            for name, q in place.items()
        }
        rate = len(ordered) / elapsed
        return {
            "requests": len(ordered),
            "seconds": round(elapsed, 2),
            "requests_per_second": round(rate, 1),
            "queries_per_second": round(rate * queries, 1),
            **shown,
            "errors": self.errors,
        }


class Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self, done: Callable[[Connection, int], None]) -> None:
        self.done = done
        self.buffer = b""
        self.since = 0.0
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self.transport = transport

    def send(self, request: bytes, since: float) -> None:
        """Ask; ``since`` is when the clock began."""
        self.since = since
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Take in a part of an answer."""
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buffer[:end].lower()
        place = head.find(b"content-length:")
        length = int(head[place + 15 :].split(b"\r", 1)[0])
        if len(self.buffer) >= end + 4 + length:
            self.buffer = b""
            self.done(self, int(head[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """An answer that did not come counts as one with the status 0."""
        if self.transport is not None:
            self.transport = None
            self.done(self, 0)


async def connect(port: int, n: int, done: Callable[[Connection, int], None]) -> list[Connection]:
    """So many connections."""
    loop = asyncio.get_running_loop()
    return [(await loop.create_connection(lambda: Connection(done), "127.0.0.1", port))[1] for _ in range(n)]


async def closed(port: int, requests: Sequence[bytes], clients: int, seconds: float) -> Tally:
    """Every client sends its next request as soon as it has an answer, until the time is over."""
    tally, turn = Tally(), itertools.cycle(requests)
    finished = asyncio.get_running_loop().create_future()
    busy = clients

    def done(connection: Connection, status: int) -> None:
        nonlocal busy
        now = time.perf_counter()
        if status == 200:
            tally.seconds.append(now - connection.since)
        else:
            tally.fail(str(status))
        if now < tally.started + seconds and connection.transport is not None:
            connection.send(next(turn), now)
            return
        busy -= 1
        if busy == 0 and not finished.done():
            finished.set_result(None)

    connections = await connect(port, clients, done)
    tally.started = time.perf_counter()
    for connection in connections:
        connection.send(next(turn), time.perf_counter())
    await finished
    tally.ended = time.perf_counter()
    _close(connections)
    return tally


async def opened(
    port: int, requests: Sequence[bytes], clients: int, seconds: float, rate: float, *, evenly: bool = False
) -> Tally:
    """Requests at random times or evenly, ``rate`` per second, over ``clients`` connections.

    Those that find no free connection queue, and are counted from when they were due.
    """
    tally, turn = Tally(), itertools.cycle(requests)
    free: deque[Connection] = deque()
    late: deque[float] = deque()

    def done(connection: Connection, status: int) -> None:
        if status == 200:
            tally.seconds.append(time.perf_counter() - connection.since)
        else:
            tally.fail(str(status))
        if connection.transport is None:
            return
        if late:
            connection.send(next(turn), late.popleft())
        else:
            free.append(connection)

    connections = await connect(port, clients, done)
    free.extend(connections)
    tally.started = time.perf_counter()
    for due in _times(rate, seconds, evenly):
        wait = tally.started + due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        if free:
            free.popleft().send(next(turn), tally.started + due)
        else:
            late.append(tally.started + due)
    for _ in range(200):
        if len(free) == clients:
            break
        await asyncio.sleep(0.05)
    else:
        tally.fail("unanswered")
    tally.ended = time.perf_counter()
    _close(connections)
    return tally


def _times(rate: float, seconds: float, evenly: bool) -> Iterator[float]:
    """Times at equal distances, or a Poisson process, always the same."""
    rng, now = random.Random(0), 0.0
    while (now := now + (1 / rate if evenly else rng.expovariate(rate))) < seconds:
        yield now


def _close(connections: Sequence[Connection]) -> None:
    for connection in connections:
        if connection.transport is not None:
            connection.done = lambda *_: None
            connection.transport.close()


def request(path: str, body: bytes, kind: str, *headers: str) -> bytes:
    """A POST as bytes."""
    lines = [f"POST {path} HTTP/1.1", "host: 127.0.0.1", f"content-type: {kind}", f"content-length: {len(body)}"]
    return ("\r\n".join([*lines, *headers]) + "\r\n\r\n").encode() + body

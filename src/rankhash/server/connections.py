"""Connections that take too long, or are too many, are closed, so that they don't keep others out.

::

    idle      open without a whole head of a request      closed after idle_seconds
    body      the head came, the body is on its way       408 after body_seconds
    answer    the answer is being made, or not read       closed some time after search_seconds

Nothing of this costs a request anything: a task looks at all connections now and then.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from .errors import ApiError
from .settings import Limits

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol
except ImportError:  # without httptools, which is faster
    Protocol = H11Protocol  # type: ignore[assignment,misc]

MAX_HEAD = 64 << 10
"""Bytes of the head of a request, as far as it comes in pieces"""
SPARE_FILES = 64
"""Files that are kept free for everything but connections"""
GRACE = 20.0
"""Seconds more than a search may take, for the answer to be read"""
REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


class Guarded(Protocol):
    """A connection as uvicorn has it, which knows since when it has been in its phase."""

    guard: Guard
    phase: tuple[str, object] = ("idle", None)
    since = 0.0
    """By the guard's clock"""
    at = 0.0
    """The same by the system's clock, which tells who came first"""
    head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """Begin, unless there are too many; then those go that have been idle for longest."""
        super().connection_made(transport)
        self.since, self.at = self.guard.now, time.monotonic()
        self.guard.make_room(self.connections)

    def data_received(self, data: bytes) -> None:
        """Take in what came, unless it is a head without end."""
        super().data_received(data)
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            self.head_bytes = 0
            return
        self.head_bytes += len(data)
        if self.head_bytes > MAX_HEAD:
            self.refuse(ApiError(431, "too_large", f"the head of a request may have at most {MAX_HEAD} bytes"))

    def send_400_response(self, msg: str) -> None:
        """Say that this is not HTTP."""
        self.refuse(ApiError(400, "bad_request", msg.rstrip("."), "send HTTP/1.1"))

    def refuse(self, error: ApiError) -> None:
        """Answer without the app, and close."""
        body = error.body
        head = f"HTTP/1.1 {error.status} {REASONS[error.status]}\r\ncontent-type: application/json\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        self.transport.close()

    def look(self) -> str:
        """The phase it is in; ``since`` is when that was first seen."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            phase = "idle"
        else:
            phase = "body" if cycle.more_body and not cycle.response_started else "answer"
        if self.phase != (phase, cycle):
            self.phase, self.since, self.at = (phase, cycle), self.guard.now, time.monotonic()
        return phase


class Guard:
    """Closes connections of one server."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.max_connections = min(limits.connections, max_files() - SPARE_FILES)
        self.n_dropped = 0
        self.now = 0.0
        """Seconds, without those in which the server itself was held up: what clients sent then was not read yet"""

    def protocol(self) -> type[Guarded]:
        """The class of connections that this guard watches."""
        return type("Guarded", (Guarded,), {"guard": self})

    async def watch(self, connections: set[Any]) -> None:
        """Look at the connections again and again."""
        shortest = min(self.limits.idle_seconds, self.limits.body_seconds, self.limits.search_seconds)
        step = min(1.0, shortest / 4)
        while True:
            before = time.monotonic()
            await asyncio.sleep(step)
            self.now += min(time.monotonic() - before, 1.5 * step)
            self.sweep(connections)

    def sweep(self, connections: set[Any]) -> None:
        """Close what takes too long."""
        for connection in list(connections):
            phase = connection.look()
            waited = self.now - connection.since
            if phase == "body" and waited > self.limits.body_seconds:
                self.n_dropped += 1
                connection.refuse(ApiError(408, "timeout", "the body did not arrive in time", "send it faster"))
            elif (phase == "idle" and waited > self.limits.idle_seconds) or (
                phase == "answer" and waited > self.limits.search_seconds + GRACE
            ):
                self.n_dropped += 1
                connection.transport.abort()

    def make_room(self, connections: set[Any]) -> None:
        """Close the hundredth part of all connections, those that have been idle for longest, if there are too many."""
        if len(connections) <= self.max_connections:
            return
        idle = [connection for connection in connections if connection.look() == "idle"]
        idle.sort(key=lambda connection: connection.at)
        for connection in idle[: 1 + len(connections) // 100]:
            self.n_dropped += 1
            connection.transport.abort()


def max_files() -> int:
    """How many files the process may open, after asking for as many as it can get."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1 << 20 if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft

"""Closes connections that take too long or are too many, so that new clients can connect.

::

    idle      open without a complete request head        closed after idle_seconds
    body      the head has arrived, the body not yet      408 after body_seconds
    answer    the answer is being made or sent            closed GRACE seconds after search_seconds

A task checks all connections at intervals, at no cost per request.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from ._errors import ApiError
from .settings import Limits

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol
except ImportError:  # without httptools, which is faster
    Protocol = H11Protocol  # type: ignore[assignment,misc]

MAX_HEAD = 64 << 10
"""Largest size of a request head, and of the framing of a chunked body, in bytes"""
FRAMING = 8
"""Largest number of framing bytes per data byte of a chunked body; a chunk of one byte has 6"""
COUNTS_DATA = hasattr(Protocol, "on_body")
"""Whether the parser reports data; h11 does not, and limits heads and trailers itself"""
SPARE_FILES = 64
"""Open files that are reserved for other uses than connections"""
GRACE = 20.0
"""Seconds for the client to read the answer, after the time limit of a search"""
REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


class GuardedConnection(Protocol):
    """A connection of uvicorn that also records the start of its current phase."""

    guard: Guard
    phase: tuple[str, object] = ("idle", None)
    since = 0.0
    """By the guard's clock"""
    at = 0.0
    """The same by the system's clock, for the order of connections"""
    request: object = None
    """The cycle of the request whose body is being read"""
    data_bytes = 0
    """Data of all bodies so far"""
    other_bytes = 0
    """Bytes of the head that is arriving, or of the body's chunk sizes, extensions and trailers"""

    def connection_made(self, transport: Any) -> None:
        """Accept the connection; if there are too many, close those that have been idle longest."""
        super().connection_made(transport)
        self.since, self.at = self.guard.now, time.monotonic()
        self.guard.make_room(self.connections)

    def data_received(self, data: bytes) -> None:
        """Receive data; refuse a head that is too long, or a body with too much framing."""
        data_before = self.data_bytes
        super().data_received(data)
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            if self.request is not None:
                self.request, self.other_bytes = None, 0
            self.other_bytes += len(data)
        elif cycle is not self.request:
            self.request, self.other_bytes = cycle, 0
        elif COUNTS_DATA:
            framing = len(data) - FRAMING * (self.data_bytes - data_before)
            self.other_bytes = max(0, self.other_bytes + framing)
        if self.other_bytes > MAX_HEAD and not self.transport.is_closing():
            self.refuse(ApiError(431, "too_large", f"the head of a request may have at most {MAX_HEAD} bytes"))

    def on_body(self, body: bytes) -> None:
        """Count the data of a body."""
        self.data_bytes += len(body)
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not valid HTTP."""
        self.refuse(ApiError(400, "bad_request", msg.rstrip("."), "send HTTP/1.1"))

    def refuse(self, error: ApiError) -> None:
        """Send an error, bypassing the application, and close the connection."""
        body = error.body
        head = f"HTTP/1.1 {error.status} {REASONS[error.status]}\r\ncontent-type: application/json\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        self.transport.close()

    def look(self) -> str:
        """The phase of the connection; ``since`` is the time at which this method first returned it."""
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
        """Seconds, without pauses of the server itself, during which data of clients were not read"""

    def protocol(self) -> type[GuardedConnection]:
        """The class of connections that this guard watches."""
        return type("GuardedConnection", (GuardedConnection,), {"guard": self})

    async def watch(self, connections: set[Any]) -> None:
        """Check the connections at intervals."""
        shortest = min(self.limits.idle_seconds, self.limits.body_seconds, self.limits.search_seconds)
        step = min(1.0, shortest / 4)
        while True:
            before = time.monotonic()
            await asyncio.sleep(step)
            self.now += min(time.monotonic() - before, 1.5 * step)
            self.sweep(connections)

    def sweep(self, connections: set[Any]) -> None:
        """Close connections that take too long."""
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
        """If there are too many connections, close one in a hundred: those that have been idle longest."""
        if len(connections) <= self.max_connections:
            return
        idle = [connection for connection in connections if connection.look() == "idle"]
        idle.sort(key=lambda connection: connection.at)
        for connection in idle[: 1 + len(connections) // 100]:
            self.n_dropped += 1
            connection.transport.abort()


def max_files() -> int:
    """The limit of open files of the process, after raising it to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1 << 20 if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft

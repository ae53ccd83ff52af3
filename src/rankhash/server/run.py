"""A server process: its socket, its signals, its shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from ..errors import StorageError
from ._allocator import bound_free_memory
from ._connections import Guard
from .settings import Settings

SECONDS_TO_END = 30


def run(app: FastAPI, settings: Settings, *, started: Callable[[str], object] = lambda _: None) -> None:
    """Serve until SIGINT or SIGTERM; accepted requests are answered before it returns. A second signal exits at once.

    Parameters
    ----------
    app, settings
        The application and the settings that it was created with.
    started
        Called with the address once requests are answered; by default nothing is called.
    """
    bound_free_memory()
    with listen(settings.host, settings.port) as listening:
        server = Server(app, settings)
        server.started_at = lambda: started(_address(settings.host, listening))
        server.run([listening])


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on an address; port 0 takes a free one."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        raise StorageError(f"cannot listen on {host} port {port}: {error.strerror}; choose another --port") from None
    return listening


def _address(host: str, listening: socket.socket) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listening.getsockname()[1]}"


class Server(uvicorn.Server):
    """uvicorn with a guard over its connections, which returns after a signal instead of raising it again."""

    started_at: Callable[[], object] = staticmethod(lambda: None)

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        self.guard = Guard(settings.limits)
        config: dict[str, Any] = {
            "http": self.guard.protocol(),
            "ws": "none",
            "log_level": "error",
            "access_log": False,
            "server_header": False,
            "proxy_headers": False,
            "timeout_keep_alive": int(settings.limits.idle_seconds) + 1,
            "timeout_graceful_shutdown": SECONDS_TO_END,
        }
        super().__init__(uvicorn.Config(app, **config))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and start the guard."""
        await super().startup(sockets)
        self._watching = asyncio.create_task(self.guard.watch(self.server_state.connections))
        self.started_at()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer the accepted requests."""
        await super().shutdown(sockets)
        self._watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watching

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM, if this is the main thread."""
        try:
            before = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:
            before = {}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, number: int, _: FrameType | None) -> None:
        if self.should_exit:  # the second signal: exit without waiting for threads
            os._exit(128 + number)
        self.should_exit = True

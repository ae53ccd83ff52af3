"""A server process: sockets, signals, and connections that take too long."""

from __future__ import annotations

import uvicorn
from fastapi import FastAPI

from .settings import Settings


def run(app: FastAPI, settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM; requests that were accepted are answered before it returns."""
    config = uvicorn.Config(
        app,
        settings.host,
        settings.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=int(settings.limits.idle_seconds),
        timeout_graceful_shutdown=30,
    )
    uvicorn.Server(config).run()

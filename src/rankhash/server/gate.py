"""What every request passes on its way in and out: who it is, how many there are, headers, counters."""

from __future__ import annotations

import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import auth
from .errors import ApiError
from .state import State

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")


class Gate:
    """An ASGI middleware."""

    def __init__(self, app: ASGIApp, state: State) -> None:
        self.app = app
        self.state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        since = time.perf_counter()
        metrics = self.state.metrics
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                present = {name for name, _ in message["headers"]}
                message["headers"] += [pair for pair in (*HEADERS, POLICY) if pair[0] not in present]
            await send(message)

        metrics.in_flight += 1
        try:
            self._check(scope)
            await self.app(scope, receive, send_with_headers)
        except ApiError as error:
            await error.response()(scope, receive, send_with_headers)
        finally:
            metrics.in_flight -= 1
            metrics.observe(_route(scope), status, time.perf_counter() - since)

    def _check(self, scope: Scope) -> None:
        path = scope["path"]
        if path in auth.PUBLIC:
            return
        limit = self.state.settings.limits.concurrent
        if self.state.metrics.in_flight > limit:
            raise ApiError(429, "too_many_requests", f"{limit} requests are being answered already", "try again later")
        auth.check(self.state.settings, scope["method"], path, Headers(scope=scope))


def _route(scope: Scope) -> str:
    """What a path is counted as: the pattern of its route, of which there are few."""
    route = scope.get("route")
    return getattr(route, "path", "other")

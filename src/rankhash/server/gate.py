"""What every request passes on its way in and out: who it is, how many there are, headers, counters.

::

    uvicorn ─▶ Gate ─┬─ POST …/search ─▶ routes_search.search         most requests; FastAPI would double their cost
                     └─ all others ────▶ FastAPI ─▶ routes_*.py
"""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import auth
from .errors import ApiError, translated
from .routes_search import search
from .state import State

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
DEFAULTS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
BEGIN, END = "/v1/collections/", "/search"
SEARCH = f"{BEGIN}{{name}}{END}"


class Gate:
    """The outermost ASGI application."""

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
                headers = message["headers"]
                headers += HEADERS
                present = {name for name, _ in headers}
                headers += [pair for pair in DEFAULTS if pair[0] not in present]
            await send(message)

        metrics.in_flight += 1
        try:
            await self._answer(scope, receive, send_with_headers)
        finally:
            metrics.in_flight -= 1
            metrics.observe(_route(scope), status, time.perf_counter() - since)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        try:
            self._check(scope)
            if scope["method"] == "POST" and path.startswith(BEGIN) and path.endswith(END):
                scope["route"] = SEARCH
                answer: ASGIApp = await search(self.state, Request(scope, receive), path[len(BEGIN) : -len(END)])
            else:
                answer = self.app
        except Exception as error:
            answer = translated(error).response()
        await answer(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        path = scope["path"]
        if path in auth.PUBLIC:
            return
        limit = self.state.settings.limits.concurrent
        if self.state.metrics.in_flight > limit:
            raise ApiError(429, "too_many_requests", f"{limit} requests are being answered already", "try again later")
        auth.check(self.state.settings, scope["method"], path, dict(scope["headers"]))


def _route(scope: Scope) -> str:
    """What a path is counted as: the pattern of its route, of which there are few."""
    route = scope.get("route", "other")
    return route if isinstance(route, str) else str(getattr(route, "path", "other"))

"""The middleware of every request: authentication, limits, headers, counters.

::

    uvicorn ─▶ Gate ─┬─ POST …/search ─▶ routes_search.answer_search  most requests; FastAPI would double their cost
                     └─ all others ────▶ FastAPI ─▶ routes_*.py
"""

from __future__ import annotations

import time
from collections import Counter

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import _auth
from ._errors import ApiError, translated
from ._routes_search import answer_search
from ._service import Service

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
PREFIX, SUFFIX = "/v1/collections/", "/search"
SEARCH_ROUTE = f"{PREFIX}{{name}}{SUFFIX}"


class Gate:
    """The outermost ASGI application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self.app = app
        self.service = service
        self._per_client: Counter[str] = Counter()
        """Requests being answered, by address"""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        since = time.perf_counter()
        metrics = self.service.metrics
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

        client = (scope.get("client") or ("", 0))[0]
        metrics.in_flight += 1
        self._per_client[client] += 1
        try:
            await self._answer(scope, receive, send_with_headers)
        finally:
            metrics.in_flight -= 1
            self._per_client[client] -= 1
            if not self._per_client[client]:
                del self._per_client[client]
            metrics.observe(_route(scope), status, time.perf_counter() - since)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        try:
            self._check(scope)
            if scope["method"] == "POST" and path.startswith(PREFIX) and path.endswith(SUFFIX):
                scope["route"] = SEARCH_ROUTE
                answer: ASGIApp = await answer_search(
                    self.service, Request(scope, receive), path[len(PREFIX) : -len(SUFFIX)]
                )
            else:
                answer = self.app
        except Exception as error:
            answer = translated(error).response()
        await answer(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        path = scope["path"]
        if path in _auth.PUBLIC:
            return
        settings = self.service.settings
        limits, client = settings.limits, (scope.get("client") or ("", 0))[0]
        if self.service.metrics.in_flight > limits.concurrent:
            raise _too_many(f"{limits.concurrent} requests are being answered already")
        if not settings.is_local and self._per_client[client] > limits.per_client:
            raise _too_many(f"{limits.per_client} requests of your address are being answered already")
        _auth.check(settings, scope["method"], path, dict(scope["headers"]))


def _too_many(message: str) -> ApiError:
    return ApiError(429, "too_many_requests", message, "try again later")


def _route(scope: Scope) -> str:
    """The label of a path in the counters: the pattern of its route."""
    route = scope.get("route", "other")
    return route if isinstance(route, str) else str(getattr(route, "path", "other"))

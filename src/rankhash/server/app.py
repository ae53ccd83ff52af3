"""The application: collections in, FastAPI out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from ..collection import Collection
from ..errors import InvalidInputError
from . import errors, page, routes_health, routes_items, routes_search
from .gate import Gate
from .settings import VERSION, Settings
from .state import State


class App(FastAPI):
    """FastAPI behind the gate."""

    gate: Gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self.gate(scope, receive, send)

    async def inside(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that has passed the gate."""
        await super().__call__(scope, receive, send)


def create_app(collections: Mapping[str, Collection], settings: Settings | None = None) -> FastAPI:
    """An ASGI application that serves collections under their names.

    The caller opens the collections, with mode ``"rw"`` if they shall be changed, and closes them afterwards.
    """
    settings = settings or Settings()
    if settings.writable and not settings.token:
        raise InvalidInputError("a server that changes collections needs a token; give Settings a token")
    if not settings.is_local and not settings.token:
        raise InvalidInputError(f"a server on {settings.host} needs a token; give Settings a token or serve 127.0.0.1")
    state = State(collections, settings)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        opening = asyncio.create_task(state.in_thread(state.open))
        yield
        await opening
        state.close()

    app = App(
        title="rankhash",
        version=VERSION,
        summary="Search over learned rank-order hash codes",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.rankhash = state
    app.gate = Gate(app.inside, state)
    errors.install(app)
    for router in (routes_search.router, routes_items.router, routes_health.router, page.make_router()):
        app.include_router(router)
    return app

"""The ASGI application that serves collections."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from ..collection import Collection
from ..errors import InvalidInputError
from . import _errors, _page, _routes_create, _routes_duplicates, _routes_health, _routes_items, _routes_search
from ._gate import Gate
from ._service import Service
from .settings import VERSION, Settings


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

    Parameters
    ----------
    collections
        Open collections by name, with mode ``"rw"`` if clients may change them; the caller closes them afterwards.
    settings
        Address, token and limits; None (the default) for ``Settings()``.
    """
    settings = settings or Settings()
    if settings.writable and not settings.token:
        raise InvalidInputError("a server that changes collections needs a token; give Settings a token")
    if not settings.is_local and not settings.token:
        raise InvalidInputError(f"a server on {settings.host} needs a token; give Settings a token or serve 127.0.0.1")
    if settings.folder is not None and not settings.writable:
        raise InvalidInputError("a server that creates collections must be writable; give Settings writable=True")
    service = Service(collections, settings)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        opening = asyncio.create_task(service.open())
        yield
        opening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await opening
        service.close()

    app = App(
        title="rankhash",
        version=VERSION,
        summary="Search over learned rank-order hash codes",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.rankhash = service
    app.gate = Gate(app.inside, service)
    _errors.install(app)
    for routes in (_routes_search, _routes_create, _routes_items, _routes_duplicates, _routes_health):
        app.include_router(routes.router)
    app.include_router(_page.make_router())
    return app

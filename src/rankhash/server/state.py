"""What all routes share: the collections, the threads that search them, and the counters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from ..collection import Collection
from . import searching
from .batching import Batcher
from .images import list_images
from .metrics import Metrics
from .served import Served, find
from .settings import Settings

T = TypeVar("T")

SEARCHERS = 4
"""Searches that ask differently at once; the native search has threads of its own."""


class State:
    """The inside of one server."""

    def __init__(self, collections: Mapping[str, Collection], settings: Settings) -> None:
        self.settings = settings
        self.collections = {name: Served(name, made, settings) for name, made in collections.items()}
        self.images = list_images(settings.images)
        self.ready = False
        self.metrics = Metrics()
        self.threads = ThreadPoolExecutor(SEARCHERS, "rankhash-search")
        self.batcher: Batcher[searching.Ask, Any, searching.Found] = Batcher(
            searching.search, self.threads, max_rows=settings.limits.batch, seconds=settings.limits.search_seconds
        )

    def open(self) -> None:
        """Bring every index into memory, so that the first request is not the one that waits."""
        for served in self.collections.values():
            with served.collection.snapshot():
                pass
        self.ready = True

    def close(self) -> None:
        """End the threads."""
        self.ready = False
        self.threads.shutdown()

    def served(self, name: str) -> Served:
        """The collection of that name, or 404."""
        return find(self.collections, name)

    async def in_thread(self, call: Callable[..., T], *args: Any) -> T:
        """What a call that may take a while returns."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, call, *args)


def state_of(request: Request) -> State:
    """The inside of the server that got the request."""
    state: State = request.app.state.rankhash
    return state


def json_answer(value: Any, status: int = 200) -> Response:
    """An answer in JSON; numbers that JSON does not know become null."""
    return Response(to_json(value, inf_nan_mode="null"), status, media_type="application/json")

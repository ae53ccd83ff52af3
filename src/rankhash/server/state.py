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
from ..errors import RankhashError
from . import searching
from .batching import Batcher
from .errors import log
from .images import list_images
from .metrics import Metrics
from .served import Served, find
from .settings import Settings

T = TypeVar("T")

PLAIN, OTHERS = 2, 4
"""Threads for searches that only read the index, and for all that may take long: filters, stored vectors, changes."""


class State:
    """The inside of one server."""

    def __init__(self, collections: Mapping[str, Collection], settings: Settings) -> None:
        self.settings = settings
        self.collections = {name: Served(name, made, settings) for name, made in collections.items()}
        self.images = list_images(settings.images)
        self.ready = False
        self.metrics = Metrics()
        self._plain = ThreadPoolExecutor(PLAIN, "rankhash-plain")
        self._others = ThreadPoolExecutor(OTHERS, "rankhash-others")
        self.batcher: Batcher[searching.Ask, Any, searching.Found] = Batcher(
            searching.search,
            lambda ask: self._plain if ask.is_plain else self._others,
            max_rows=searching.TOGETHER,
            seconds=settings.limits.search_seconds,
        )

    def open(self) -> None:
        """Bring every index into memory, so that the first request is not the one that waits."""
        try:
            for served in self.collections.values():
                with served.collection.snapshot():
                    pass
        except RankhashError as error:
            log.error("%s", error)
        else:
            self.ready = True

    def close(self) -> None:
        """End the threads."""
        self.ready = False
        self._plain.shutdown()
        self._others.shutdown()

    def served(self, name: str) -> Served:
        """The collection of that name, or 404."""
        return find(self.collections, name)

    async def in_thread(self, call: Callable[..., T], *args: Any) -> T:
        """What a call that may take a while returns."""
        return await asyncio.get_running_loop().run_in_executor(self._others, call, *args)


def state_of(request: Request) -> State:
    """The inside of the server that got the request."""
    state: State = request.app.state.rankhash
    return state


def json_answer(value: Any, status: int = 200) -> Response:
    """An answer in JSON; numbers that JSON does not know become null."""
    return Response(to_json(value, inf_nan_mode="null"), status, media_type="application/json")

"""State shared by all routes: the collections, the threads that read and change them, and the counters."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from ..collection import Collection
from ..errors import RankhashError
from . import _search_batch
from ._batching import Batcher
from ._errors import log, timed_out
from ._images import list_images
from ._metrics import Metrics
from ._search_batch import BatchKey, SearchResult
from .served_collection import ServedCollection, find
from .settings import Settings

T = TypeVar("T")

N_THREADS = {"index": 2, "reads": 4, "lookups": 2, "changes": 2}
"""Threads per kind of work, so that long work of one kind does not delay the others.

``index``: searches that read the index only. ``reads``: filters, stored vectors, metadata, text encoders; they may run
up to the time limit. ``lookups``: single items, sizes, counters. ``changes``: additions and deletions.
"""

SECONDS_TO_LOAD_AGAIN = 2.0
"""Pause after a collection could not be loaded"""


class Service:
    """The collections of one server, and the threads that work on them."""

    def __init__(self, collections: Mapping[str, Collection], settings: Settings) -> None:
        self.settings = settings
        self.collections = {name: ServedCollection(name, made, settings) for name, made in collections.items()}
        self.creating = asyncio.Lock()
        """Held while a collection is created"""
        self._own: list[Collection] = []
        self.images = list_images(settings.images)
        self.ready = False
        self.metrics = Metrics()
        self._threads = {kind: ThreadPoolExecutor(n, f"rankhash-{kind}") for kind, n in N_THREADS.items()}
        self.batcher: Batcher[BatchKey, Any, SearchResult] = Batcher(
            lambda key, requests: _search_batch.run_batch(key, requests),
            lambda key: self._threads["index" if key.reads_index_only else "reads"],
            max_rows=_search_batch.MAX_BATCH_ROWS,
            seconds=settings.limits.search_seconds,
        )

    async def open(self) -> None:
        """Load every index into memory, so that the first request does not wait for it; until that has succeeded."""
        while True:
            try:
                await asyncio.get_running_loop().run_in_executor(self._threads["reads"], self._load)
            except Exception as error:
                log.error("%s", error, exc_info=None if isinstance(error, RankhashError) else error)
            else:
                self.ready = True
                return
            await asyncio.sleep(SECONDS_TO_LOAD_AGAIN)

    def _load(self) -> None:
        for served in self.collections.values():
            with served.collection.snapshot():
                pass

    def close(self) -> None:
        """End the threads."""
        self.ready = False
        for threads in self._threads.values():
            threads.shutdown()
        for made in self._own:
            made.close()

    def take(self, served: ServedCollection) -> None:
        """Serve another collection, and close it at shutdown."""
        self._own.append(served.collection)
        self.collections = self.collections | {served.name: served}

    def served(self, name: str) -> ServedCollection:
        """The collection of that name, or 404."""
        return find(self.collections, name)

    async def in_thread(self, kind: str, call: Callable[..., T], *args: Any) -> T:
        """The result of a call in a thread of one of the kinds of ``N_THREADS``.

        A read that has waited for a thread for longer than the time limit is not made: its client has gone.
        """
        seconds = math.inf if kind == "changes" else self.settings.limits.search_seconds
        latest = time.monotonic() + seconds

        def run() -> T:
            if time.monotonic() > latest:
                raise timed_out()
            return call(*args)

        return await asyncio.get_running_loop().run_in_executor(self._threads[kind], run)


def service_of(request: Request) -> Service:
    """The service that a request is for."""
    service: Service = request.app.state.rankhash
    return service


def json_answer(value: Any, status: int = 200) -> Response:
    """An answer in JSON; NaN and infinity become null."""
    return Response(to_json(value, inf_nan_mode="null"), status, media_type="application/json")

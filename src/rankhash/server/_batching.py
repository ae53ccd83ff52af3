"""Searches that arrive together run as one batch.

::

    search ─▶ is a batch of the same key running? ── no ──▶ a thread runs it at once
                        │ yes
                        └──▶ it waits; when the running batch ends, all waiting searches run as the next batch

There is no timer: a single search starts at once, and batches grow with the load.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence, Sized
from concurrent.futures import Executor
from typing import Generic, TypeVar

from ._errors import timed_out

KeyT = TypeVar("KeyT", bound=Hashable)
RequestT = TypeVar("RequestT", bound=Sized)
ResultT = TypeVar("ResultT")


class _Pending(Generic[RequestT, ResultT]):
    """A request that waits for its result."""

    __slots__ = ("request", "result", "timer")

    def __init__(self, request: RequestT, result: asyncio.Future[ResultT], timer: asyncio.TimerHandle) -> None:
        self.request, self.result, self.timer = request, result, timer


class Batcher(Generic[KeyT, RequestT, ResultT]):
    """Runs requests in threads, those of equal keys together.

    Parameters
    ----------
    run
        Called in a thread with a key and the requests of a batch; returns a result or an exception for each.
    executor_of
        The threads for a key.
    max_rows
        Largest number of rows of all requests of a batch; a larger request runs alone.
    seconds
        Time after which a request without a result is answered with 503.
    """

    def __init__(
        self,
        run: Callable[[KeyT, Sequence[RequestT]], Sequence[ResultT | Exception]],
        executor_of: Callable[[KeyT], Executor],
        *,
        max_rows: int,
        seconds: float,
    ) -> None:
        self._run = run
        self._executor_of = executor_of
        self._max_rows = max_rows
        self._seconds = seconds
        self._waiting: dict[KeyT, deque[_Pending[RequestT, ResultT]]] = {}
        self.n_batches = 0
        self.n_requests = 0
        self.n_rows = 0

    async def submit(self, key: KeyT, request: RequestT) -> ResultT:
        """The result of one request."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[ResultT] = loop.create_future()
        timer = loop.call_later(self._seconds, _time_out, result)
        pending = _Pending(request, result, timer)
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.append(pending)
        else:
            self._waiting[key] = deque([pending])
            loop.call_soon(self._start, loop, key)  # after the other requests that have already arrived
        try:
            return await result
        finally:
            timer.cancel()

    def _start(self, loop: asyncio.AbstractEventLoop, key: KeyT) -> None:
        batch = self._take(self._waiting[key])
        if not batch:
            del self._waiting[key]
            return
        self.n_batches += 1
        self.n_requests += len(batch)
        self.n_rows += sum(len(pending.request) for pending in batch)
        running = loop.run_in_executor(self._executor_of(key), self._run_waiting, key, batch)
        running.add_done_callback(lambda done: self._finish(loop, key, batch, done))

    def _run_waiting(
        self, key: KeyT, batch: list[_Pending[RequestT, ResultT]]
    ) -> list[tuple[_Pending[RequestT, ResultT], ResultT | Exception]]:
        """In a thread: run those whose clients still wait; while all threads were busy, their time may have passed."""
        waiting = [pending for pending in batch if not pending.result.done()]
        results = self._run(key, [pending.request for pending in waiting]) if waiting else []
        return list(zip(waiting, results, strict=True))

    def _take(self, waiting: deque[_Pending[RequestT, ResultT]]) -> list[_Pending[RequestT, ResultT]]:
        """The next requests whose clients still wait: at least one, and as many as fit into a batch."""
        batch: list[_Pending[RequestT, ResultT]] = []
        rows = 0
        while waiting and (not batch or rows + len(waiting[0].request) <= self._max_rows):
            pending = waiting.popleft()
            if not pending.result.done():
                batch.append(pending)
                rows += len(pending.request)
        return batch

    def _finish(
        self,
        loop: asyncio.AbstractEventLoop,
        key: KeyT,
        batch: list[_Pending[RequestT, ResultT]],
        done: asyncio.Future[list[tuple[_Pending[RequestT, ResultT], ResultT | Exception]]],
    ) -> None:
        error = done.exception()
        results = done.result() if error is None else [(pending, error) for pending in batch]
        for pending, result in results:
            if pending.result.done():
                continue
            if isinstance(result, BaseException):
                pending.result.set_exception(result)
            else:
                pending.result.set_result(result)
        self._start(loop, key)


def _time_out(result: asyncio.Future[ResultT]) -> None:
    if not result.done():
        result.set_exception(timed_out())

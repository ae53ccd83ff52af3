"""Searches that arrive together run as one.

::

    search ─▶ is one that asks alike running? ── no ──▶ a thread runs it, at once
                        │ yes
                        └──▶ waits; when the running one ends, all that wait run as one batch

Nobody waits for a timer: a lone search starts at once, and under load batches grow by themselves.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence, Sized
from concurrent.futures import Executor
from typing import Generic, TypeVar

from .errors import ApiError

Ask = TypeVar("Ask", bound=Hashable)
Request = TypeVar("Request", bound=Sized)
Found = TypeVar("Found")


class _Job(Generic[Request, Found]):
    """A request that waits for its answer."""

    __slots__ = ("answer", "request", "timer")

    def __init__(self, request: Request, answer: asyncio.Future[Found], timer: asyncio.TimerHandle) -> None:
        self.request, self.answer, self.timer = request, answer, timer


class Batcher(Generic[Ask, Request, Found]):
    """Runs searches in threads, those with equal ``ask`` together."""

    def __init__(
        self,
        run: Callable[[Ask, Sequence[Request]], Sequence[Found | Exception]],
        executor_of: Callable[[Ask], Executor],
        *,
        max_rows: int,
        seconds: float,
    ) -> None:
        self._run = run
        self._executor_of = executor_of
        self._max_rows = max_rows
        self._seconds = seconds
        self._waiting: dict[Ask, deque[_Job[Request, Found]]] = {}
        self.n_batches = 0
        self.n_requests = 0
        self.n_rows = 0

    async def search(self, ask: Ask, request: Request) -> Found:
        """The answer to one request."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Found] = loop.create_future()
        timer = loop.call_later(self._seconds, _give_up, answer)
        job = _Job(request, answer, timer)
        waiting = self._waiting.get(ask)
        if waiting is not None:
            waiting.append(job)
        else:
            self._waiting[ask] = deque([job])
            loop.call_soon(self._start, loop, ask)  # after the other requests that are here already
        try:
            return await answer
        finally:
            timer.cancel()

    def _start(self, loop: asyncio.AbstractEventLoop, ask: Ask) -> None:
        jobs = self._take(self._waiting[ask])
        if not jobs:
            del self._waiting[ask]
            return
        self.n_batches += 1
        self.n_requests += len(jobs)
        self.n_rows += sum(len(job.request) for job in jobs)
        running = loop.run_in_executor(self._executor_of(ask), self._run, ask, [job.request for job in jobs])
        running.add_done_callback(lambda done: self._end(loop, ask, jobs, done))

    def _take(self, waiting: deque[_Job[Request, Found]]) -> list[_Job[Request, Found]]:
        """The next requests that somebody still waits for, one at least, as many as fit into a batch."""
        jobs: list[_Job[Request, Found]] = []
        rows = 0
        while waiting and (not jobs or rows + len(waiting[0].request) <= self._max_rows):
            job = waiting.popleft()
            if not job.answer.done():
                jobs.append(job)
                rows += len(job.request)
        return jobs

    def _end(
        self,
        loop: asyncio.AbstractEventLoop,
        ask: Ask,
        jobs: list[_Job[Request, Found]],
        done: asyncio.Future[Sequence[Found | Exception]],
    ) -> None:
        error = done.exception()
        answers = [error] * len(jobs) if error is not None else done.result()
        for job, found in zip(jobs, answers, strict=True):
            if job.answer.done():
                continue
            if isinstance(found, BaseException):
                job.answer.set_exception(found)
            else:
                job.answer.set_result(found)
        self._start(loop, ask)


def _give_up(answer: asyncio.Future[Found]) -> None:
    if not answer.done():
        answer.set_exception(ApiError(503, "timeout", "the search took too long", "try again, or ask for less"))

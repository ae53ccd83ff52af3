"""Which searches run together, and when."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankhash.server._batching import Batcher
from rankhash.server._errors import ApiError


class Recorder:
    """Runs batches when it is allowed to, and remembers them; an answer is the request itself."""

    def __init__(self, *, held=False):
        self.batches = []
        self.go = threading.Event()
        self.begun = threading.Semaphore(0)
        if not held:
            self.go.set()

    def run(self, ask, requests):
        self.batches.append((ask, [*requests]))
        self.begun.release()
        assert self.go.wait(60)
        return [ValueError("wrong") if "wrong" in request else request for request in requests]


def check(scenario, recorder, *, max_rows=100, seconds=60.0):
    """Run a scenario with a batcher over the recorder."""
    with ThreadPoolExecutor(4) as executor:
        batcher = Batcher(recorder.run, lambda _: executor, max_rows=max_rows, seconds=seconds)
        try:
            asyncio.run(scenario(batcher))
        finally:
            recorder.go.set()


async def begun(recorder):
    while not recorder.begun.acquire(blocking=False):
        await asyncio.sleep(0.001)


def test_requests_that_are_here_together_run_together():
    recorder = Recorder()

    async def scenario(batcher):
        found = await asyncio.gather(*(batcher.submit("a", [i]) for i in range(5)))
        assert found == [[0], [1], [2], [3], [4]]
        assert await batcher.submit("a", [9]) == [9]
        assert (batcher.n_batches, batcher.n_requests, batcher.n_rows) == (2, 6, 6)

    check(scenario, recorder)
    assert recorder.batches == [("a", [[0], [1], [2], [3], [4]]), ("a", [[9]])]


def test_what_arrives_while_one_runs_is_the_next_batch_and_others_do_not_wait():
    recorder = Recorder(held=True)

    async def scenario(batcher):
        first = asyncio.create_task(batcher.submit("a", [0]))
        await begun(recorder)
        later = [asyncio.create_task(batcher.submit("a", [i])) for i in (1, 2, 3)]
        other = asyncio.create_task(batcher.submit("b", [7]))
        await begun(recorder)
        assert recorder.batches == [("a", [[0]]), ("b", [[7]])]
        recorder.go.set()
        assert await asyncio.gather(first, *later, other) == [[0], [1], [2], [3], [7]]

    check(scenario, recorder)
    assert recorder.batches[2:] == [("a", [[1], [2], [3]])]


def test_batches_have_a_size_and_large_requests_go_alone():
    recorder = Recorder(held=True)

    async def scenario(batcher):
        tasks = [asyncio.create_task(batcher.submit("a", [0]))]
        await begun(recorder)
        tasks += [asyncio.create_task(batcher.submit("a", [i] * n)) for i, n in enumerate((2, 2, 9, 1, 3), 1)]
        await asyncio.sleep(0)
        recorder.go.set()
        await asyncio.gather(*tasks)

    check(scenario, recorder, max_rows=4)
    assert [[len(request) for request in batch] for _, batch in recorder.batches] == [[1], [2, 2], [9], [1, 3]]


def test_an_error_is_that_of_its_request_only():
    async def scenario(batcher):
        results = await asyncio.gather(
            batcher.submit("a", ["x"]),
            batcher.submit("a", ["wrong"]),
            batcher.submit("a", ["y"]),
            return_exceptions=True,
        )
        assert (results[0], results[2]) == (["x"], ["y"])
        assert isinstance(results[1], ValueError)

    check(scenario, Recorder())


def test_a_failure_of_the_whole_batch_reaches_everybody_and_the_next_one_runs():
    recorder = Recorder()
    right = recorder.run

    def fails(ask, requests):
        raise RuntimeError("broken")

    async def scenario(batcher):
        batcher._run = fails
        results = await asyncio.gather(*(batcher.submit("a", [i]) for i in range(3)), return_exceptions=True)
        assert all(isinstance(result, RuntimeError) for result in results)
        batcher._run = right
        assert await batcher.submit("a", [1]) == [1]

    check(scenario, recorder)


def test_abandoned_requests_are_skipped_and_late_ones_time_out():
    recorder = Recorder(held=True)

    async def scenario(batcher):
        first = asyncio.create_task(batcher.submit("a", [0]))
        await begun(recorder)
        gone = asyncio.create_task(batcher.submit("a", [1]))
        stays = asyncio.create_task(batcher.submit("a", [2]))
        await asyncio.sleep(0.01)
        gone.cancel()
        for task in (first, stays):
            with pytest.raises(ApiError, match="too long"):
                await task
        recorder.go.set()
        assert await batcher.submit("a", [3]) == [3]

    check(scenario, recorder, seconds=0.3)
    assert recorder.batches == [("a", [[0]]), ("a", [[3]])]

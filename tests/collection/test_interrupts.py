"""Ctrl-C and deadlines end SQL, and what they would have changed stays as it was."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

import pytest

from rankhash import Collection, DeadlineError

SLOW = " or ".join(f"a{i}.b = 'x{i}'" for i in range(399))
"""Seconds of SQL for the collection below"""

pytestmark = pytest.mark.filterwarnings("ignore:no item has the field")


@pytest.fixture(scope="module")
def large():
    with Collection.create(None, metric="euclidean") as made:
        made.add([[float(i)] for i in range(60_000)], metadata=[{"n": i} for i in range(60_000)])
        made.count("n = 0")
        yield made


class AlarmError(Exception):
    pass


@contextlib.contextmanager
def signalled(number, handler=None):
    """A signal after some work, and how long after it the block ended."""
    before = signal.signal(number, signal.getsignal(number) if handler is None else handler)
    sent, over = [], threading.Event()

    def send():
        if not over.wait(0.1):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), number)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        over.set()
        thread.join()
        signal.signal(number, before)


@pytest.mark.parametrize("timeout", [None, 600])
def test_ctrl_c_ends_a_filter_soon(large, timeout):
    with (
        pytest.raises(KeyboardInterrupt),
        signalled(signal.SIGINT) as sent,
        large.snapshot(timeout=timeout) as snapshot,
    ):
        snapshot.count(SLOW)
    assert time.perf_counter() - sent[0] < 1
    assert large.count("n < 10") == 10


def test_what_a_handler_raises_is_raised(large):
    def ring(*_):
        raise AlarmError

    with pytest.raises(AlarmError), signalled(signal.SIGALRM, ring):
        large.count(SLOW)


def test_a_handler_that_does_not_raise_lets_sql_go_on(large):
    heard = []
    with signalled(signal.SIGALRM, lambda *_: heard.append(1)):
        assert large.count(" or ".join(f"n = {i}" for i in range(100))) == 100
        while not heard:
            time.sleep(0.01)


def test_a_change_that_is_interrupted_changes_nothing(large):
    before = len(large)
    with pytest.raises(KeyboardInterrupt), signalled(signal.SIGINT):
        large.delete(where=f"not ({SLOW})")
    assert len(large) == before
    assert large.search([[3.0]], 1).ids.tolist() == [[3]]


def test_large_metadata_are_interrupted_at_the_deadline():
    """Few instructions of SQLite read them, each of which takes long."""
    with Collection.create(None, metric="euclidean") as made:
        made.add([[float(i)] for i in range(400)], metadata=[{"n": i, "t": ["x"] * 50_000} for i in range(400)])
        with pytest.raises(DeadlineError), made.snapshot(timeout=0.01) as snapshot:
            snapshot.count("a.b = 1 or n = 3000")

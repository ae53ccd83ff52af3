"""Ctrl-C ends a long native call soon, and what it would have changed stays as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from rankhash import CodeLayout, FlatIndex, LookupIndex, _kernels

LAYOUT = CodeLayout(32, 4)
SOON = 0.1
N = 400_000


@pytest.fixture(scope="module")
def codes():
    return np.random.default_rng(0).integers(0, 256, (N, 8), dtype=np.uint8)


def interrupted(call, after=0.05):
    """Seconds from Ctrl-C, sent after ``after`` seconds of CPU time, to the end of the call."""
    sent = []

    def send():
        start = time.process_time()
        while time.process_time() - start < after:
            time.sleep(0.002)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    def run():
        thread = threading.Thread(target=send)
        thread.start()
        call()
        thread.join()

    with pytest.raises(KeyboardInterrupt):
        run()
    return time.perf_counter() - sent[0]


def soon(call):
    """The quickest of three: others may keep the machine busy."""
    assert min(interrupted(call) for _ in range(3)) < SOON


@pytest.mark.parametrize("n_threads", [1, 2])
def test_searches_end_soon(codes, n_threads):
    index = FlatIndex(LAYOUT)
    index.add(codes)
    queries = codes[:100_000]
    soon(lambda: index.search(queries, 10, n_threads=n_threads))
    tables = np.random.default_rng(1).normal(size=(20_000, 32, 4)).astype(np.float32)
    soon(lambda: index.search_scores(tables, 10, n_threads=n_threads))
    soon(lambda: index.search_radius(queries, 3, n_threads=n_threads))
    assert index.search(codes[:1], 1).ids.tolist() == [[0]]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_encoding_ends_soon(n_threads):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(200_000, 256)).astype(np.float32)
    projections = rng.normal(size=(512, 256)).astype(np.float32)
    soon(lambda: _kernels.encode(vectors, projections, None, None, 128, 4, n_threads))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_true_distances_of_a_few_queries_end_soon(n_threads):
    """A few queries are one task; the rows are zeros, which take no memory."""
    stored, queries = np.zeros((1 << 20, 512), np.float32), np.ones((8, 512), np.float32)
    ids = np.arange(len(stored))
    rows = _kernels.RowsView(stored.view(np.uint8)[:0], stored.view(np.uint8), len(stored), None, 512, "float32")
    soon(lambda: _kernels.search_rows(rows, ids, False, None, queries, 3, n_threads))
    candidates = np.tile(ids, (2, 1))
    soon(lambda: _kernels.rank_rows(rows, ids, False, candidates, queries[:2], 3, n_threads))


def state_of(index):
    store = index._store
    return len(index), store.size, store.n_dead, store.next_id, index.n_tables, index.ids.tobytes()


def test_a_change_that_is_interrupted_changes_nothing(codes, monkeypatch):
    index = LookupIndex(LAYOUT)
    index.add(codes[:50_000])
    index.remove(np.arange(0, 9000, 2))
    before, kept = state_of(index), index.get(index.ids)
    queries = codes[:50]
    expected = index.search(queries, 10)

    def build(*_arguments):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(_kernels, "build_segment", build)
    for call in (
        lambda: index.add(codes[50_000:100_000]),
        lambda: index.add(codes[50_000:100_000], ids=np.r_[np.arange(0, 9000, 2), np.arange(60_000, 105_500)]),
        lambda: index.upsert(codes[-50_000:], ids=np.r_[np.arange(1, 9000, 2), np.arange(60_000, 105_500)]),
        lambda: index.upsert(codes[-25_000:], ids=np.arange(20_000, 45_000)),
        lambda: index.remove(np.arange(10_000, 30_000)),
        index.compact,
    ):
        with pytest.raises(KeyboardInterrupt):
            call()
        assert state_of(index) == before
        np.testing.assert_array_equal(index.get(index.ids), kept)
        np.testing.assert_array_equal(index.search(queries, 10).ids, expected.ids)
    monkeypatch.undo()
    index.add(codes[50_000:100_000])
    assert len(index) == before[0] + 50_000


def test_building_tables_ends_soon(codes):
    index = LookupIndex(LAYOUT, n_tables=8)
    soon(lambda: index.add(np.tile(codes, (4, 1))))
    assert len(index) == 0


def test_a_handler_that_does_not_raise_lets_the_call_go_on(codes):
    index = FlatIndex(LAYOUT)
    index.add(codes)
    heard = []
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    try:
        expected = index.search(codes[:3000], 5, n_threads=1)
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        found = index.search(codes[:3000], 5, n_threads=1)
        while not heard:
            time.sleep(0.01)
    finally:
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(found.ids, expected.ids)


def run_python(code):
    return subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)


PREPARE = """
import os, threading, numpy as np
from rankhash import CodeLayout, FlatIndex
codes = np.random.default_rng(0).integers(0, 256, (50_000, 8), dtype=np.uint8)
index = FlatIndex(CodeLayout(32, 4))
index.add(codes)
expected = index.search(codes[:3], 5, n_threads=2)
"""


def test_a_fork_while_another_thread_searches_leaves_a_child_that_can_search():
    code = (
        PREPARE
        + """
ended = threading.Event()
def work():
    while not ended.is_set():
        index.search(codes[:70], 5, n_threads=2)
thread = threading.Thread(target=work)
thread.start()
states = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        same = (index.search(codes[:3], 5, n_threads=2).ids == expected.ids).all()
        os._exit(0 if same else 1)
    states.append(os.waitpid(child, 0)[1])
ended.set()
thread.join()
print(states == [0] * 20)
"""
    )
    result = run_python(code)
    assert result.stdout.strip() == "True", result.stderr


def test_thousands_of_threads_are_neither_started_nor_kept():
    code = (
        PREPARE
        + """
if not os.path.isdir("/proc/self/task"):
    print("unknown", 0, 0)
else:
    before = len(os.listdir("/proc/self/task"))
    index.search(np.repeat(codes, 8, axis=0)[:30_000], 5, n_threads=5000)
    print("known", len(os.listdir("/proc/self/task")) - before, 4 * os.cpu_count())
"""
    )
    known, started, most = run_python(code).stdout.split()
    if known == "unknown":
        pytest.skip("threads cannot be counted on this system")
    assert int(started) <= int(most)

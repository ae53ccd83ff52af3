"""Requests that would take too long or too much: each is refused with a sentence, and others go on."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import numpy as np
import pytest

from rankhash import LSH, Collection
from rankhash.server import Limits, Settings, _connections, _search_batch

from .serving import TOKEN, Client, process, read_all, serving

N = 4000
SLOW = " or ".join(f"a{i}.b = 'x{i}'" for i in range(399))
"""Seconds of SQL for the collection below, and more than one second on any machine"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A collection whose metadata are long."""
    vectors = np.random.default_rng(0).normal(size=(N, 4)).astype(np.float32)
    path = tmp_path_factory.mktemp("large") / "digits.rankhash"
    with Collection.create(path, LSH(16, random_state=0).fit(vectors)) as made:
        made.add(vectors, metadata=[{"n": i, "text": "y" * 5000} for i in range(N)])
        yield made


@pytest.fixture(scope="module")
def impatient(large):
    """A client of a server that interrupts filters early."""
    with serving({"digits": large}, Settings(limits=Limits(search_seconds=0.5))) as client:
        yield client


@pytest.fixture(scope="module")
def small(large):
    """A client of a server whose answers are small."""
    with serving({"digits": large}, Settings(limits=Limits(search_seconds=60, answer_bytes=1 << 20))) as client:
        yield client


def test_a_slow_filter_is_interrupted_and_others_are_answered(impatient):
    clients = [Client(impatient.port) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        slow = [threads.submit(one.search, id=i, where=f"n = {i} or {SLOW}") for i, one in enumerate(clients)]
        time.sleep(0.1)
        started = time.monotonic()
        for path in ("/v1/collections", impatient.path, f"{impatient.path}/items/17", "/metrics"):
            assert impatient.get(path).status == 200
        assert impatient.search(vector=[1.0, 2.0, 3.0, 4.0]).status == 200
        assert time.monotonic() - started < 5
        assert {answer.result().code for answer in slow} == {"503 timeout"}
    started = time.monotonic()
    where = quote(f"n = 9 or {SLOW}")
    assert clients[0].get(f"{impatient.path}/items?where={where}").code == "503 timeout"
    while impatient.search(vector=[1.0, 2.0, 3.0, 4.0], metadata=True).status != 200:  # the threads are free again
        assert time.monotonic() - started < 20
    for one in clients:
        one.close()


@pytest.mark.parametrize("how", ["search", "list"])
def test_filters_whose_clients_have_gone_are_not_run(impatient, how):
    def ask(i):
        client = Client(impatient.port)
        where = f"n = {i} or {SLOW}"
        try:
            if how == "search":
                return client.search(id=i, where=where).code
            return client.get(f"{impatient.path}/items?where={quote(where)}").code
        finally:
            client.close()

    n = 60  # of half a second each: eight seconds of all threads
    with ThreadPoolExecutor(n) as threads:
        answers = [threads.submit(ask, i) for i in range(n)]
        time.sleep(1.0)
        started = time.monotonic()
        while impatient.search(id=1, where="n < 10").status != 200:
            assert time.monotonic() - started < 4
        assert {answer.result() for answer in answers} == {"503 timeout"}


def test_filters_are_parsed_before_a_thread_has_them(small, monkeypatch):
    monkeypatch.setattr(_search_batch, "run_batch", lambda *_: 1 / 0)
    assert small.search(id=1, where="n <").code == "422 bad_filter"
    assert small.search(id=1, where="a = " + "1" * 19_000 + "x").code == "422 bad_filter"


def test_an_answer_has_a_size(small):
    answer = small.search(ids=list(range(200)), k=999, metadata=True)
    assert answer.code == "422 limit"
    assert "fewer" in answer.json["error"]["hint"]
    assert small.search(ids=[1], k=50, metadata=True).status == 200
    assert small.search(ids=list(range(200)), k=999, symbols=True).code == "422 limit"
    assert small.search(ids=list(range(20)), k=5, symbols=True).status == 200
    assert small.get(f"{small.path}/items?limit=1000").code == "422 limit"
    assert small.get(f"{small.path}/items?limit=50").status == 200


def test_small_answers_that_are_searched_together_are_not_refused(small):
    clients = [Client(small.port) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        for _ in range(3):
            answers = list(threads.map(lambda one: one.search(id=3, k=100, metadata=True).status, clients))
            assert answers == [200] * 8
    for one in clients:
        one.close()


@pytest.mark.parametrize(
    "more",
    [
        b"0\r\n" + b"x-long: " + b"y" * 1_000_000,
        b"0\r\n" + b"x-many: y\r\n" * 100_000,
        b"1;extension=" + b"y" * 1_000_000,
        b"".join(b"1;" + b"y" * 1000 + b"\r\nx\r\n" for _ in range(1000)),
    ],
    ids=["one trailer", "many trailers", "one extension", "many extensions"],
)
def test_trailers_and_extensions_of_chunks_have_the_limit_of_a_head(small, more):
    head = f"POST {small.path}/search HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    with small.raw(head) as connection:
        connection.sendall(b"1\r\n{\r\n")
        time.sleep(0.2)  # the head and the first chunk are read
        with contextlib.suppress(OSError):
            for start in range(0, len(more), 10_000):
                connection.sendall(more[start : start + 10_000])
                time.sleep(0.001)
        answer = read_all(connection)
    assert answer.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400")) or not answer
    assert small.search(vector=[1.0, 2.0, 3.0, 4.0]).status == 200


def test_small_chunks_are_no_mistake(small):
    body = b'{"vector": [1.0, 2.0, 3.0, 4.0], "where": "' + b"n < 5" + b" " * 15_000 + b'"}'
    head = f"POST {small.path}/search HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    with small.raw(head) as connection:
        connection.sendall(b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
    assert len(body) * 6 > _connections.MAX_HEAD


def test_one_address_cannot_take_all_requests(make):
    settings = Settings(host="0.0.0.0", token=TOKEN, limits=Limits(per_client=2, concurrent=100))
    with make(":memory:") as made, serving({"digits": made}, settings) as client:
        head = f"POST {client.path}/search HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n"
        head += "content-length: 9\r\n\r\n"
        with client.raw(head.encode()), client.raw(head.encode()):
            end = time.monotonic() + 10
            while client.app.state.rankhash.metrics.in_flight < 2:
                assert time.monotonic() < end
                time.sleep(0.01)
            answer = client.search(id=1)
            assert answer.code == "429 too_many_requests"
            assert "your address" in answer.json["error"]["message"]


def test_a_second_signal_ends_the_process_at_once(large, tmp_path, monkeypatch):
    (tmp_path / "slow_encoder.py").write_text("import time\ndef encode(texts):\n    time.sleep(120)\n")
    monkeypatch.chdir(tmp_path)
    body = b'{"text": "3"}'
    with process(large.path, "--text-encoder", "slow_encoder:encode") as client:
        head = f"POST {client.path}/search HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
        with client.raw(head.encode() + body):
            time.sleep(0.5)
            client.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            assert client.process.poll() is None  # a request is being answered
            client.process.send_signal(signal.SIGTERM)
            assert client.process.wait(20) == 128 + signal.SIGTERM


def test_truth_has_a_limit(make):
    settings = Settings(limits=Limits(stored=1000))
    with make(":memory:", store_vectors="float16") as made, serving({"digits": made}, settings) as client:
        assert client.search(id=1, truth=True).status == 200
        assert client.search(ids=[1, 2], truth=True).code == "422 limit"
        assert client.search(ids=[1, 2], truth=True, where="digit < 5").status == 200
        clients = [Client(client.port) for _ in range(8)]
        with ThreadPoolExecutor(8) as threads:  # together they are beyond the limit, but each for itself is not
            for _ in range(5):
                answers = list(threads.map(lambda one: one.search(id=1, truth=True).status, clients))
                assert answers == [200] * 8
        for one in clients:
            one.close()


def test_a_large_body_is_refused_before_and_while_it_comes(make):
    settings = Settings(limits=Limits(body_bytes=1000))
    with make(":memory:") as made, serving({"digits": made}, settings) as client:
        assert client.call("POST", f"{client.path}/search", b"x" * 1001).code == "413 too_large"
        assert client.search(id=1).status == 200
        head = f"POST {client.path}/search HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n".encode()
        with client.raw(head) as connection:
            try:
                for _ in range(100):
                    connection.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")
            except OSError:  # it was closed while we were sending
                return
            assert b" 413 " in connection.recv(4096)


def test_requests_beyond_the_limit_are_turned_away(make):
    settings = Settings(limits=Limits(concurrent=2))
    with make(":memory:") as made, serving({"digits": made}, settings) as client:
        head = f"POST {client.path}/search HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n".encode()
        with client.raw(head), client.raw(head):
            wait_until(lambda: client.app.state.rankhash.metrics.in_flight == 2)
            answer = client.search(id=1)
            assert answer.code == "429 too_many_requests"
            assert answer.headers["retry-after"] == "1"
            assert client.get("/healthz").status == 200
        wait_until(lambda: client.app.state.rankhash.metrics.in_flight == 0)
        assert client.search(id=1).status == 200


def test_a_search_that_takes_too_long_is_answered_with_503(make, monkeypatch):
    blocked = threading.Event()
    right = _search_batch.run_batch

    def slow(key, requests):
        blocked.wait(10)
        return right(key, requests)

    monkeypatch.setattr(_search_batch, "run_batch", slow)
    settings = Settings(limits=Limits(search_seconds=0.2))
    with make(":memory:") as made, serving({"digits": made}, settings) as client:
        try:
            assert client.search(id=1).code == "503 timeout"
        finally:
            blocked.set()
        assert client.search(id=1).status == 200


def wait_until(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)

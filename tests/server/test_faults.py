"""Clients that are slow, silent or senseless don't stop others; the end waits for what was accepted."""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import socket
import threading
import time

import pytest

from rankhash import Collection, StorageError
from rankhash.server import Limits, Settings, _service
from rankhash.server._connections import Guard

from .serving import Client, process, read_all, serving

QUICK = Limits(idle_seconds=0.6, body_seconds=0.6, search_seconds=60)


@pytest.fixture(scope="module")
def quick(make):
    """A client of a server that is impatient."""
    with make(":memory:") as made, serving({"digits": made}, Settings(limits=QUICK)) as client:
        client.kept = 0.0
        yield client


def seconds_until_closed(connection):
    since = time.monotonic()
    data = read_all(connection)
    return time.monotonic() - since, data


def post(client, length=100):
    return f"POST {client.path}/search HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n".encode()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /healthz HT",
        b"GET /healthz HTTP/1.1\r\nhost: local",
        b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /heal",
    ],
    ids=["nothing", "half a line", "half a head", "half a second request"],
)
def test_a_connection_without_a_whole_request_is_closed(quick, sent):
    with quick.raw(sent) as connection:
        waited, _ = seconds_until_closed(connection)
        assert 0.3 < waited < 60


def test_a_head_that_comes_byte_by_byte_is_closed(quick):
    with quick.raw() as connection:
        closed = threading.Thread(target=read_all, args=(connection,))
        closed.start()
        for _ in range(1000):
            with contextlib.suppress(OSError):
                connection.sendall(b"G")
            closed.join(0.025)
            if not closed.is_alive():
                break
        assert not closed.is_alive()


@pytest.mark.parametrize("half", [b"", b'{"id":'])
def test_a_body_that_does_not_come_is_408(quick, half):
    with quick.raw(post(quick) + half) as connection:
        waited, data = seconds_until_closed(connection)
    assert data.startswith(b"HTTP/1.1 408 ")
    assert json.loads(data.partition(b"\r\n\r\n")[2])["error"]["code"] == "timeout"
    assert waited < 60


@pytest.mark.parametrize(
    "garbage",
    [
        b"\0" * 1000,
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
    ],
    ids=["zeros", "words", "TLS", "no path", "no text"],
)
def test_garbage_is_400(quick, garbage):
    with quick.raw(garbage) as connection:
        data = read_all(connection)
    assert data.startswith(b"HTTP/1.1 400 ")
    assert json.loads(data.partition(b"\r\n\r\n")[2])["error"]["code"] == "bad_request"
    assert quick.get("/healthz").status == 200


@pytest.mark.parametrize("line", [b"x: " + b"y" * 100, b"z" * 1000], ids=["many headers", "one long header"])
def test_a_head_without_end_is_refused(quick, line):
    """In memory it takes a few times 64 kB, not what the client sends."""
    with quick.raw(b"GET / HTTP/1.1\r\n" + (b"" if b":" in line else b"x: ")) as connection:
        sent = 0
        try:
            while sent < 50 << 20:
                part = (line + b"\r\n" if b":" in line else line) * 100
                connection.sendall(part)
                sent += len(part)
        except OSError:
            pass
    assert sent < 20 << 20


def test_requests_one_after_the_other_on_one_connection_are_all_answered(quick):
    body = b'{"id": 1, "k": 1}'
    one = post(quick, len(body)) + body
    with quick.raw(one * 5 + b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n") as connection:
        data = read_all(connection)
    assert data.count(b"HTTP/1.1 200 OK") == 6


def test_a_client_that_does_not_read_does_not_stop_others(quick):
    body = json.dumps({"ids": list(range(100)), "k": 600, "symbols": True}).encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", quick.port))
        connection.sendall((post(quick, len(body)) + body) * 3)
        for _ in range(20):
            assert quick.search(id=1).status == 200


def test_idle_connections_make_room_for_others(make):
    """Far fewer connections are allowed than are opened; who asks is answered all the same."""
    settings = Settings(limits=Limits(connections=50, search_seconds=60))
    with make(":memory:") as made, serving({"digits": made}, settings) as client:
        idle = [client.raw() for _ in range(300)]
        client.close()  # which was idle, too
        try:
            for _ in range(5):
                assert client.search(id=1).status == 200
            assert client.server.guard.n_dropped >= 200
            assert len(client.server.server_state.connections) <= 51
        finally:
            for connection in idle:
                connection.close()


def test_the_number_of_connections_keeps_below_the_number_of_files():
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    guard = Guard(Limits(connections=1 << 30))
    assert guard.max_connections < resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= soft


def test_the_end_waits_for_requests_that_were_accepted(make, tmp_path):
    make(tmp_path / "digits.rankhash").close()
    body = b'{"id": 1, "k": 2}'
    with process(tmp_path / "digits.rankhash", "--threads", 1, token=None) as client:
        halves = [client.raw(post(client, len(body)) + body[:5]) for _ in range(10)]
        idle = client.raw()
        wait_in_flight(client, 10)
        answers: list[bytes] = []
        readers = [threading.Thread(target=lambda half=half: answers.append(read_all(half))) for half in halves]
        for reader in readers:
            reader.start()
        client.close()
        client.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        with pytest.raises(OSError, match=r"."):
            client.raw()
        for half in halves:
            half.sendall(body[5:])
        for reader in readers:
            reader.join(30)
        assert client.process.wait(30) == 0
        assert len(answers) == 10
        assert all(answer.startswith(b"HTTP/1.1 200 ") and b'"matches":[{' in answer for answer in answers)
        for connection in (*halves, idle):
            connection.close()


def wait_in_flight(client, n):
    for _ in range(500):
        text = client.get("/metrics").data.decode()
        if f"rankhash_requests_in_flight {n + 1}\n" in text:
            return
        time.sleep(0.02)
    raise AssertionError(text)


def test_hundreds_of_clients_come_and_go(quick):
    """Connections that are cut in the middle of anything leave nothing behind."""
    for i in range(200):
        connection = quick.raw((post(quick) + b'{"id"')[: 1 + 7 * i % 140])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
    for _ in range(500):
        if quick.app.state.rankhash.metrics.in_flight == 0 and len(quick.server.server_state.connections) <= 1:
            break
        time.sleep(0.02)
    assert quick.app.state.rankhash.metrics.in_flight == 0
    other = Client(quick.port)
    assert other.search(id=1).status == 200
    other.close()


def test_a_server_becomes_ready_after_a_load_that_failed(make, monkeypatch):
    monkeypatch.setattr(_service, "SECONDS_TO_LOAD_AGAIN", 0.05)
    failures = iter([StorageError("the disk does not answer"), RuntimeError("a defect")])
    right = Collection.snapshot

    def snapshot(*args, **options):
        error = next(failures, None)
        if error is not None:
            raise error
        return right(*args, **options)

    monkeypatch.setattr(Collection, "snapshot", snapshot)
    with make(":memory:") as made, serving({"digits": made}, Settings()) as client:  # which waits until it is ready
        assert next(failures, None) is None
        assert client.get("/readyz").status == client.search(id=1).status == 200

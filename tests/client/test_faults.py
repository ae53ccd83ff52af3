"""Servers that fail, are busy, or answer something else."""

from __future__ import annotations

import http.server
import json
import threading

import numpy as np
import pytest

from rankhash import EngineError, FilterError
from rankhash.client import Client, ServerError

X = np.random.default_rng(0).standard_normal((300, 12)).astype(np.float32)


class Flaky(http.server.BaseHTTPRequestHandler):
    """Answers with the first plan that is left: a status, or None to hang up."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self._answer()

    def do_GET(self):
        self._answer()

    def _answer(self):
        self.server.n_asked += 1
        status = self.server.plan.pop(0)
        if status is None:
            self.connection.close()
            return
        body = json.dumps(self.server.answers.get(self.path.split("?")[0], {})).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def flaky():
    """A server that answers as planned."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Flaky)
    server.n_asked, server.plan = 0, []
    server.answers = {
        "/v1/collections": {"collections": [], "limits": {"batch": 10, "body_bytes": 1 << 20}},
        "/v1/collections/a/items": {"ids": [1]},
        "/v1/collections/a": {"n_items": 3},
    }
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_busy_server_is_asked_again(flaky):
    flaky.plan = [503, 429, 200]
    with Client(f"http://127.0.0.1:{flaky.server_port}") as client:
        assert client.collections() == []
    assert flaky.n_asked == 3


def test_a_broken_connection_repeats_only_what_does_no_harm(flaky):
    with Client(f"http://127.0.0.1:{flaky.server_port}") as client:
        flaky.plan = [None, 200]
        assert len(client.collection("a")) == 3
        flaky.plan = [200, None, 200]
        with pytest.raises(EngineError, match="cannot be reached"):
            client.collection("a").add(X[:1])
        assert flaky.plan == [200]
        flaky.plan = [200, None, 200]
        client.collection("a").upsert(X[:1], [1])
        assert flaky.plan == []


def test_answers_that_are_none_are_refused(flaky):
    with Client(f"http://127.0.0.1:{flaky.server_port}", retries=0) as client:
        flaky.plan = [500]
        with pytest.raises(ServerError, match="status 500"):
            client.collections()
        flaky.answers["/v1/collections/a/search"] = {}
        flaky.plan = [200, 200]
        with pytest.raises(EngineError, match="not what its head says"):
            client.collection("a").search_arrays(X[:1])


FOREIGN = [
    *(None, [], 1, "x", {}, {"results": 1}, {"results": [1]}, {"results": [{"matches": 1}]}, {"results": []}),
    *({"results": [{"matches": [1]}]}, {"results": [{"matches": [{"id": 1}]}]}, {"items": 1}, {"deleted": "x"}),
    *({"deleted": 1e400}, {"ids": 1}, {"n_items": "x"}, {"n_items": 1e400}, {"n_items": -5}),
]
CALLS = {
    "search": lambda items: items.search(X[:2]),
    "search_ids": lambda items: items.search_ids([1]),
    "search_arrays": lambda items: items.search_arrays(X[:2]),
    "items": lambda items: list(items.items()),
    "add": lambda items: items.add(X[:2]),
    "upsert": lambda items: items.upsert(X[:2], ["a", "b"]),
    "len": len,
}


@pytest.mark.parametrize("call", CALLS)
def test_answers_of_another_form_are_an_error_of_this_package(flaky, call):
    refused = 0
    for answer in FOREIGN:
        flaky.answers |= dict.fromkeys(["/v1/collections/a/search", "/v1/collections/a/items"], answer)
        flaky.answers["/v1/collections/a"] = answer
        flaky.plan = [200, 200]
        with Client(f"http://127.0.0.1:{flaky.server_port}", retries=0) as client:
            try:
                CALLS[call](client.collection("a"))
            except EngineError:
                refused += 1
    assert refused >= len(FOREIGN) - 2


@pytest.mark.parametrize(
    "limits", [None, {}, {"batch": "x", "body_bytes": 1}, {"batch": 1e400, "body_bytes": 1e400, "matches": 1e400}]
)
def test_limits_of_another_form_are_an_error_of_this_package(flaky, limits):
    flaky.answers["/v1/collections"] = {"limits": limits}
    flaky.plan = [200]
    with Client(f"http://127.0.0.1:{flaky.server_port}", retries=0) as client, pytest.raises(EngineError):
        client.collection("a").search(X[:2])


@pytest.mark.parametrize("position", ["x", [], 1e400])
def test_errors_of_another_form_are_an_error_of_this_package(flaky, position):
    flaky.answers["/v1/collections"] = {"error": {"code": "bad_filter", "message": "m", "position": position}}
    flaky.plan = [422]
    with (
        Client(f"http://127.0.0.1:{flaky.server_port}", retries=0) as client,
        pytest.raises((EngineError, FilterError)),
    ):
        client.collections()

"""Servers to test: in a thread of this process, or in a process of their own; and a client for them."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from typing import Any, NamedTuple

from rankhash.server import create_app
from rankhash.server.run import Server, listen

TOKEN = "a-token-of-some-length"
PROGRAM = "from rankhash.cli import main; main()"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data, parse_constant=lambda _: 1 / 0)

    @property
    def code(self) -> str:
        """The code of an error, whose body must be as promised."""
        assert self.headers["content-type"] == "application/json"
        assert self.json.keys() == {"error"}
        error = self.json["error"]
        assert error.keys() - {"position"} == {"code", "message", "hint"}
        assert error["message"]
        assert "Traceback" not in error["message"]
        return f"{self.status} {error['code']}"


class Client:
    kept = 5.0
    """Seconds for which a connection is used again; a server closes what is idle for longer."""

    def __init__(self, port: int, token: str | None = None, name: str = "digits") -> None:
        self.port, self.token, self.name = port, token, name
        self.connection: http.client.HTTPConnection | None = None
        self.used = 0.0

    @property
    def path(self) -> str:
        return f"/v1/collections/{self.name}"

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request over a connection that is kept."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token and "authorization" not in sent:
            sent["authorization"] = f"Bearer {self.token}"
        if body is not None and not isinstance(body, (bytes, str)):
            body, sent = json.dumps(body), {"content-type": "application/json"} | sent
        if time.monotonic() - self.used > self.kept:
            self.close()
        self.used = time.monotonic()
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            self.connection.request(method, path, body, sent)
            response = self.connection.getresponse()
            data = response.read()
        except (http.client.HTTPException, OSError):
            self.close()
            raise
        if response.will_close:
            self.close()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, data)

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, **headers)

    def search(self, body: Any = None, **options: Any) -> Answer:
        return self.call("POST", f"{self.path}/search", body if body is not None else options)

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def raw(self, data: bytes = b"") -> socket.socket:
        """A connection that was sent so much."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        connection.sendall(data)
        return connection


@contextlib.contextmanager
def serving(collections, settings):
    """A client of a server in a thread."""
    app = create_app(collections, settings)
    with listen("127.0.0.1", 0) as listening:
        server = Server(app, settings)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        client = Client(listening.getsockname()[1], settings.token)
        client.app, client.server = app, server
        try:
            wait_ready(client)
            yield client
        finally:
            client.close()
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


def wait_ready(client, seconds=60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if client.get("/readyz").status == 200:
                return
        time.sleep(0.02)
    raise AssertionError("the server did not get ready")


@contextlib.contextmanager
def process(*arguments, token=TOKEN):
    """A client of ``rankhash serve`` in a process; ``client.process`` is that."""
    command = [sys.executable, "-c", PROGRAM, "serve", *map(str, arguments), "--port", "0"]
    env = os.environ | ({"RANKHASH_TOKEN": token} if token else {})
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as started:
        try:
            lines = []
            for line in started.stderr:
                lines.append(line)
                if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                    break
            else:
                raise AssertionError("".join(lines))
            client = Client(int(found[1]), token)
            client.process = started
            wait_ready(client)
            yield client
            client.close()
        finally:
            if started.poll() is None:
                started.kill()


def read_all(connection):
    """What still comes, until the other side closes."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)

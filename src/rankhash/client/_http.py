"""Requests over persistent connections, one per thread: repeated where that is safe, errors as exceptions."""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ..errors import EngineError, FilterError, InvalidInputError, RankhashError, TakenIdError, UnknownIdError

LARGEST_ANSWER = 1 << 28  # bytes
LONGEST_WAIT = 10.0  # seconds between two attempts
KEPT = 5.0  # seconds after which an idle connection is replaced, since servers close it
AGAIN = (429, 503)  # statuses of a busy server, which has changed nothing


class ServerError(EngineError):
    """The server refused a request; `status` is the HTTP status, `code` and `hint` come from the server's answer."""

    def __init__(self, message: str, status: int, code: str, hint: str | None) -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.status, self.code, self.hint = status, code, hint


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise EngineError(f"the server's answer is not JSON: {error}") from error


class Transport:
    """One server, with a connection per thread."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInputError(f"url must be like 'http://127.0.0.1:8000', got {url!r}")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._root = parts.path.rstrip("/")
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._timeout, self._retries = timeout, retries
        self._local = threading.local()
        self._open: set[http.client.HTTPConnection] = set()

    def request(
        self, method: str, path: str, body: bytes | None = None, *, repeat: bool = True, **headers: str
    ) -> Answer:
        """The answer to a request; ``repeat`` (default True): whether it may be sent twice."""
        sent = self._headers | {name.replace("_", "-"): value for name, value in headers.items()}
        for turn in range(self._retries + 1):
            last = turn == self._retries
            try:
                answer = self._once(method, self._root + path, body, sent)
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                if last or not (repeat or isinstance(error, (ConnectionRefusedError, socket.gaierror))):
                    raise EngineError(f"{self._host} cannot be reached: {error}") from error
                _wait(turn, None)
                continue
            if answer.status < 400:
                return answer
            if answer.status not in AGAIN or last:
                raise _error(answer)
            _wait(turn, answer.headers.get("retry-after"))
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close the connections of all threads."""
        while self._open:
            self._open.pop().close()

    def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        if time.monotonic() - getattr(self._local, "used", 0.0) > KEPT:
            self._drop()
        self._local.used = time.monotonic()
        connection = self._connection()
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        data = response.read(LARGEST_ANSWER + 1)
        if len(data) > LARGEST_ANSWER:
            raise EngineError(f"the answer is larger than {LARGEST_ANSWER:,} bytes; ask for less")
        return Answer(response.status, response.headers, data)

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = self._local.connection = kind(self._host, self._port, timeout=self._timeout)
            self._open.add(connection)
        return connection

    def _drop(self) -> None:
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            self._local.connection = None
            self._open.discard(connection)
            with contextlib.suppress(OSError):
                connection.close()


@contextlib.contextmanager
def as_described() -> Iterator[None]:
    """Turn any error from an answer of an unexpected form into an EngineError."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, RankhashError):
            raise
        raise EngineError("the server's answer has not the form of rankhash's") from error


def _wait(turn: int, told: str | None) -> None:
    """Wait for the time in the server's Retry-After header, else with exponential backoff and random jitter."""
    seconds = float(told) if told is not None and told.isascii() and told.isdecimal() else 0.1 * 2**turn
    time.sleep(min(seconds, LONGEST_WAIT) * random.uniform(0.5, 1.0))


def _error(answer: Answer) -> RankhashError:
    """The exception for an answer with a status of 400 or more, where possible the one that a collection raises."""
    try:
        detail = answer.json()["error"]
        code, message, hint = str(detail["code"]), str(detail["message"]), detail.get("hint")
        position = int(detail.get("position") or 0)
    except (EngineError, KeyError, TypeError, AttributeError, ValueError, OverflowError):
        return ServerError(f"the server answered with status {answer.status}", answer.status, "unknown", None)
    if code == "unknown_id":
        return UnknownIdError(message)
    if code == "id_taken":
        return TakenIdError(message)
    if code == "bad_filter":
        return FilterError(message, position)
    if code == "invalid":
        return InvalidInputError(message)
    return ServerError(message, answer.status, code, hint)

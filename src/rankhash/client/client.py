"""`Client`: the collections of one server."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from .._checks import check_integer, check_number
from ..errors import InvalidInputError
from ._http import Transport, as_described
from .remote_collection import RemoteCollection


class Client:
    """The collections that ``rankhash serve`` offers under an address.

    Connections are kept, one per thread, so that a client can be shared between threads.

    Parameters
    ----------
    url
        The address of the server; default ``"http://127.0.0.1:8000"``. A path in it becomes a prefix of all requests.
    token
        The server's token; default None. Changes need it, and so do all requests to a server on another machine.
    timeout
        Seconds to wait for the server, per attempt; default 30.
    retries
        Largest number of repetitions of a request if the server is busy, or if the connection breaks and the request
        may be sent twice; default 3.

    Examples
    --------
    ::

        with Client("http://127.0.0.1:8000", token="…") as client:
            items = client.collection("items")
            items.upsert(vectors, ids, metadata)
            items.search(vectors[:3], k=5, where="price < 20", metadata=True)
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
    ) -> None:
        if token is not None and not (isinstance(token, str) and token.isascii() and token.isprintable()):
            raise InvalidInputError("token must be a text of printable ASCII characters, or None")
        timeout = check_number("timeout", timeout, 0, 86_400, open_interval=True)
        self._transport = Transport(url, token, timeout, check_integer("retries", retries, 0, 100))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; a later request opens a new one."""
        self._transport.close()

    def collections(self) -> list[dict[str, Any]]:
        """The served collections: name, number of items, dimension and abilities of each."""
        with as_described():
            listed: list[dict[str, Any]] = self._served()["collections"]
            return listed

    def limits(self) -> dict[str, float]:
        """The limits of requests, such as ``batch``: the largest number of queries or items per request."""
        with as_described():
            limits: dict[str, float] = self._served()["limits"]
            return limits

    def collection(self, name: str) -> RemoteCollection:
        """The collection of that name; the first request raises an error if it does not exist."""
        return RemoteCollection(self._transport, quote(name, safe=""), self.limits)

    def create(
        self, name: str, *, metric: str = "cosine", recall: float = 0.95, store_vectors: str = "float32"
    ) -> RemoteCollection:
        """A new, empty collection on a server with a folder for them (``rankhash serve --folder DIR --writable``).

        Parameters
        ----------
        name
            Letters, digits, - and _; it must not be taken.
        metric
            The metric of vectors: ``"cosine"`` (default), ``"euclidean"`` or ``"dot"``.
        recall
            The fraction of the true neighbours that searches find on average; default 0.95.
        store_vectors
            ``"float32"`` (default) or ``"float16"``.
        """
        body = {"name": name, "metric": metric, "recall": recall, "store_vectors": store_vectors}
        self._transport.request(
            "POST", "/v1/collections", json.dumps(body).encode(), repeat=False, content_type="application/json"
        )
        return self.collection(name)

    def _served(self) -> dict[str, Any]:
        served: dict[str, Any] = self._transport.request("GET", "/v1/collections").json()
        return served

"""`RemoteCollection`: searches and changes of a collection on a server."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_integer
from .._ids import Id, as_ids
from .._metadata import as_texts
from .._types import F32
from ..errors import EngineError, InvalidInputError
from ..neighbors import Neighbors
from ..vectors import as_vectors
from ._http import Answer, Transport, as_described

Metadata = Sequence[Mapping[str, Any] | None] | Any
"""A dict or None per item, a DataFrame, an Arrow table, or a dict of columns"""
RAW = "application/octet-stream"
JSON = "application/json"


class Match(NamedTuple):
    """An item that was found."""

    id: Id
    distance: float
    metadata: dict[str, Any] | None
    """None unless requested."""


class RemoteCollection:
    """A collection on a server; [`Client.collection`][rankhash.client.Client.collection] gives one.

    Methods are those of [`Collection`][rankhash.Collection] as far as the server offers them.
    """

    def __init__(self, transport: Transport, name: str, limits: Callable[[], dict[str, float]]) -> None:
        self._transport, self._path, self._ask_limits = transport, f"/v1/collections/{name}", limits
        self._limits: dict[str, float] | None = None

    def __len__(self) -> int:
        with as_described():
            return max(0, int(self.info()["n_items"]))

    def info(self) -> dict[str, Any]:
        """Sizes and settings of the collection."""
        info: dict[str, Any] = self._transport.request("GET", self._path).json()
        return info

    # -- searches --------------------------------------------------------------------------------------------------

    def search(
        self,
        vectors: ArrayLike | None = None,
        k: int = 10,
        *,
        like: Id | Sequence[Id] | None = None,
        unlike: Id | Sequence[Id] = (),
        where: str | None = None,
        metadata: bool = False,
        **options: Any,
    ) -> list[list[Match]]:
        """The nearest items of each query vector, or of examples, as lists of matches.

        Parameters
        ----------
        vectors
            Query vectors, one per row, or a single one; None (the default) with ``like``.
        k
            Number of items per query; default 10.
        like, unlike
            Examples and counterexamples for one query, as in [`Collection.search`][rankhash.Collection.search]: one id
            or several; default None and ().
        where
            A filter over the metadata; default None: all items.
        metadata
            Whether matches come with their metadata; default False.
        options
            Further options of the server's search, such as ``radius``, ``group_by`` or ``view``; default none.
        """
        given = {"k": k, "where": where, "metadata": metadata or None, **options}
        body = {name: value for name, value in given.items() if value is not None}
        if like is not None and vectors is None:
            examples = {"like": _listed(like), "unlike": _listed(unlike)}
            return _matches(self._send("POST", "/search", examples | body), 1)
        if vectors is None or like is not None:
            raise InvalidInputError("search needs either vectors or ids in like")
        found: list[list[Match]] = []
        for part in self._batches(_rows(vectors), k):
            found += _matches(self._send("POST", "/search", {"vectors": part.tolist(), **body}), len(part))
        return found

    def search_ids(
        self, ids: Sequence[Id], k: int = 10, *, where: str | None = None, metadata: bool = False, **options: Any
    ) -> list[list[Match]]:
        """The items nearest to each of the given items, which are left out; parameters as in `search`."""
        given = {"ids": as_ids(ids, unique=False), "k": k, "where": where, "metadata": metadata or None, **options}
        body = {name: value for name, value in given.items() if value is not None}
        return _matches(self._send("POST", "/search", body), len(body["ids"]))

    def search_arrays(self, vectors: ArrayLike, k: int = 10, *, where: str | None = None, **options: Any) -> Neighbors:
        """As `search`, for collections with integer ids: arrays in a binary format, which is faster.

        Parameters as in [`search`][rankhash.client.RemoteCollection.search].
        """
        options = {"k": k, "where": where, **options}
        asked = urlencode({name: _text(value) for name, value in options.items() if value is not None})
        parts = [
            _arrays(
                self._transport.request(
                    "POST", f"{self._path}/search?{asked}", part.astype("<f4").tobytes(), content_type=RAW, accept=RAW
                )
            )
            for part in self._batches(_rows(vectors), k)
        ]
        if not parts:
            return Neighbors(np.empty((0, k), np.int64), np.empty((0, k), np.float32))
        with as_described():
            return Neighbors(np.concatenate([ids for ids, _ in parts]), np.concatenate([near for _, near in parts]))

    # -- items -----------------------------------------------------------------------------------------------------

    def get(self, id: Id, *, vector: bool = False) -> dict[str, Any]:
        """One item: its id and metadata, and its stored vector if ``vector`` (default False)."""
        (name,) = as_ids([id])
        kind = "string" if isinstance(name, str) else "integer"
        query = urlencode({"type": kind, "vector": str(vector).lower()})
        item: dict[str, Any] = self._transport.request(
            "GET", f"{self._path}/items/{quote(str(name), safe='')}?{query}"
        ).json()
        return item

    def items(self, *, where: str | None = None, page: int = 500) -> Iterator[dict[str, Any]]:
        """All items, or those that match ``where`` (default None); ``page`` (default 500) items per request."""
        page, offset = check_integer("page", page), 0
        while True:
            asked = {"offset": offset, "limit": page} | ({} if where is None else {"where": where})
            answer = self._transport.request("GET", f"{self._path}/items?{urlencode(asked)}")
            with as_described():
                body = answer.json()
                items: list[dict[str, Any]] = [*body["items"]]
                _warn([] if offset else body.get("warnings") or [])
            yield from items
            offset += len(items)
            if len(items) < page:
                return

    def add(
        self,
        vectors: ArrayLike,
        ids: Sequence[Id] | None = None,
        metadata: Metadata | None = None,
        *,
        view: str | None = None,
    ) -> list[Id]:
        """Add items and return their ids. Each request is durable as a whole when it returns.

        Many items take several requests: if one fails, the items of earlier requests are stored. With ``ids`` (default
        None: the next numbers) such a call can be repeated as [`upsert`][rankhash.client.RemoteCollection.upsert].
        ``ids`` and ``metadata`` (default None) take what [`Collection.add`][rankhash.Collection.add] takes: a dict or
        None per vector, a DataFrame, an Arrow table or a dict of columns. ``view`` (default None: the first or only
        one) names the view of the vectors, for a hasher of several.
        """
        return self._put(_rows(vectors), ids, metadata, view, upsert=False)

    def upsert(
        self,
        vectors: ArrayLike,
        ids: Sequence[Id],
        metadata: Metadata | None = None,
        *,
        view: str | None = None,
    ) -> None:
        """Replace the items whose ids exist, and add the others; ``metadata`` and ``view`` (None) as in `add`."""
        self._put(_rows(vectors), ids, metadata, view, upsert=True)

    def delete(self, ids: Sequence[Id] | None = None, *, where: str | None = None) -> int:
        """Delete items by ``ids`` or all that match ``where`` (both None by default); return the number of them."""
        given = {"ids": None if ids is None else as_ids(ids), "where": where}
        body = {name: value for name, value in given.items() if value is not None}
        answer = self._send("DELETE", "/items", body, repeat=False)
        with as_described():
            return int(answer.json()["deleted"])

    # -- inside ----------------------------------------------------------------------------------------------------

    def _put(self, rows: F32, ids: Any, metadata: Any, view: str | None, *, upsert: bool) -> list[Id]:
        names = None if ids is None else as_ids(ids, len(rows))
        texts = None if metadata is None else as_texts(metadata, len(rows))
        kept: list[Id] = []
        done = 0
        for part in self._batches(rows, 1):
            items: list[dict[str, Any]] = [{"vector": row} for row in part.tolist()]
            for i, item in enumerate(items, done):
                item |= {} if names is None else {"id": names[i]}
                item |= {} if texts is None else {"metadata": json.loads(texts[i] or "null")}
            path = "/items?upsert=1" if upsert else "/items"
            body = {"items": items} | ({} if view is None else {"view": view})
            answer = self._send("POST", path, body, repeat=upsert)
            with as_described():
                kept += answer.json()["ids"]
            done += len(part)
        return kept

    def _send(self, method: str, path: str, body: dict[str, Any], *, repeat: bool = True) -> Answer:
        try:
            data = json.dumps(body, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(f"this cannot be written as JSON: {error}") from error
        return self._transport.request(method, self._path + path, data, repeat=repeat, content_type=JSON)

    def _batches(self, rows: F32, k: int) -> Iterator[F32]:
        """The rows in parts within the server's limits of one request."""
        if self._limits is None:
            self._limits = self._ask_limits()
        limits, per_row = self._limits, 24 * rows.shape[1] + 4096  # bytes of a row in JSON, with its metadata
        k = check_integer("k", k)
        with as_described():
            most = min(limits["batch"], limits["body_bytes"] // per_row, limits.get("matches", math.inf) // k)
            step = max(1, int(most))
        for first in range(0, len(rows), step):
            yield rows[first : first + step]


def _rows(vectors: ArrayLike) -> F32:
    array = np.asarray(vectors)
    if array.ndim == 2 and len(array) == 0:
        return array.astype(np.float32)
    return as_vectors(array[None] if array.ndim == 1 and array.size else array, name="vectors")


def _listed(ids: Any) -> list[Id]:
    """Ids as a list, also of one id."""
    return as_ids([ids] if isinstance(ids, str) or not hasattr(ids, "__iter__") else ids)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _matches(answer: Answer, n_queries: int) -> list[list[Match]]:
    with as_described():
        body = answer.json()
        found = [[_match(one) for one in result["matches"]] for result in body["results"]]
        if len(found) != n_queries:
            raise ValueError("another number of results")
        _warn(body.get("warnings") or [])
        return found


def _warn(sentences: Sequence[Any]) -> None:
    """Pass on the server's warnings, of fields that no item has."""
    for sentence in sentences[:100]:
        warnings.warn(str(sentence), stacklevel=4)


def _match(one: dict[str, Any]) -> Match:
    distance = one["distance"]
    return Match(one["id"], math.inf if distance is None else distance, one.get("metadata"))


def _arrays(answer: Answer) -> tuple[Any, Any]:
    """Ids and distances of a binary answer, whose length is checked first."""
    try:
        n, k = (int(part) for part in answer.headers["x-rankhash-shape"].split(","))
        if n < 0 or k < 0 or len(answer.body) != 12 * n * k:
            raise ValueError
    except (TypeError, ValueError, AttributeError):
        raise EngineError("the server's answer is not what its head says") from None
    with as_described():
        _warn(json.loads(answer.headers.get("x-rankhash-warnings", "[]")))
    ids = np.frombuffer(answer.body, "<i8", n * k).reshape(n, k).astype(np.int64)
    return ids, np.frombuffer(answer.body, "<f4", n * k, offset=8 * n * k).reshape(n, k).astype(np.float32)

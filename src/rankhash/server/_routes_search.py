"""``POST /v1/collections/{name}/search``."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ..collection.filters import parse
from ..vectors import as_vectors
from . import _bodies, _openapi, _search_answer
from ._errors import ApiError
from ._models import SearchAnswer, SearchBody, SearchOptions
from ._search_batch import BatchKey, Examples
from ._service import Service, service_of
from .served_collection import ServedCollection

router = APIRouter()

QUERY_FIELDS = ("vectors", "vector", "ids", "id", "text", "like")
MANY_MATCHES = 2000
"""Number of matches from which an answer is written in a thread, so that the event loop is not blocked"""


@router.post(
    "/v1/collections/{name}/search",
    openapi_extra=_openapi.search_body(),
    responses=_openapi.answers(SearchAnswer, 404, 406, 413, 415, 422),
    summary="Find the nearest items",
    operation_id="search",
)
async def search_route(request: Request, name: str) -> Response:
    """Find the items that are nearest to vectors, to items of the collection, or to a text, or like some examples.

    Vectors may also be sent as rows of little-endian float32 (`application/octet-stream`) or as an `.npy` file
    (`application/x-npy`); how to search then stands in the query string.
    """
    return await answer_search(service_of(request), request, name)


async def answer_search(service: Service, request: Request, name: str) -> Response:
    """The answer of ``search_route``; the gate calls this function directly."""
    since = time.perf_counter()
    served = service.served(name)
    headers = dict(request.scope["headers"])
    body = await _bodies.read(request.receive, headers, service.settings.limits.body_bytes)
    kind = _bodies.content_type(headers)
    queries: Any
    examples = None
    if kind == _bodies.JSON:
        options: SearchOptions = SearchBody.model_validate_json(body)
        examples = _examples(options)  # type: ignore[arg-type]
        queries, by_ids = await _queries(service, served, options)  # type: ignore[arg-type]
    elif kind in (_bodies.RAW, _bodies.NPY):
        options = SearchOptions.model_validate_strings(dict(request.query_params))
        queries, by_ids = _bodies.parse_rows(kind, body, served.width(options.view)), False
    else:
        raise _bodies.unsupported(kind, _bodies.JSON, _bodies.RAW, _bodies.NPY)
    if options.where is not None:
        parse(options.where)
    key = BatchKey.of(served, options, len(queries), by_ids=by_ids, examples=examples)
    found = await service.batcher.submit(key, queries)
    write = _search_answer.as_bytes if headers.get(b"accept") == b"application/octet-stream" else _search_answer.as_json
    if found.items or found.matches.ids.size >= MANY_MATCHES:
        return await service.in_thread("reads", write, key, found, since)
    return write(key, found, since)


def _examples(body: SearchBody) -> Examples | None:
    """The examples and counterexamples of a search by several, else None: one alone is an item like others."""
    if body.like is None and body.unlike:
        raise ApiError(422, "invalid", "unlike needs examples in like")
    if body.like is None or len(body.like) + len(body.unlike) == 1:
        return None
    return Examples(tuple(body.like), tuple(body.unlike))


async def _queries(service: Service, served: ServedCollection, body: SearchBody) -> tuple[Any, bool]:
    """The queries as vectors or as ids, and whether they are ids."""
    given = [name for name in QUERY_FIELDS if getattr(body, name) is not None]
    if len(given) != 1:
        raise ApiError(
            422, "invalid", f"give exactly one of {', '.join(QUERY_FIELDS)}, got {', '.join(given) or 'none'}"
        )
    if body.like is not None:
        return (body.like, True) if len(body.like) + len(body.unlike) == 1 else ([None], False)
    width = served.width(body.view)
    if body.vector is not None:
        return _vectors(width, [body.vector]), False
    if body.vectors is not None:
        return _vectors(width, body.vectors), False
    if body.text is not None:
        return _vectors(width, await _encoded(service, body.text)), False
    return (body.ids if body.ids is not None else [body.id]), True


def _vectors(width: int | None, rows: Any) -> Any:
    """Rows of one length as an array; finiteness in float32 is checked when they are encoded."""
    if {*map(len, rows)} != {width}:
        return as_vectors(rows, n_features=width, name="vectors", owner="the collection")
    with np.errstate(over="ignore"):
        return np.array(rows, np.float32)


async def _encoded(service: Service, text: str) -> Any:
    encoder = service.settings.text_encoder
    if encoder is None:
        raise ApiError(422, "invalid", "this server has no text encoder", "start it with --text-encoder")
    return as_vectors(await service.in_thread("reads", encoder, [text]), name="the encoded text")

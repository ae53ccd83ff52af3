"""``POST /v1/collections/{name}/search``."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ..vectors import as_vectors
from . import bodies, openapi, searching
from .errors import ApiError
from .models import SearchAnswer, SearchBody, SearchOptions
from .served import Served
from .state import State, json_answer, state_of

router = APIRouter()

WAYS = ("vectors", "vector", "ids", "id", "text")


@router.post(
    "/v1/collections/{name}/search",
    openapi_extra=openapi.search_body(),
    responses=openapi.answers(SearchAnswer, 404, 406, 413, 415, 422),
    summary="Find the nearest items",
    operation_id="search",
)
async def search_route(request: Request, name: str) -> Response:
    """Find the items that are nearest to vectors, to items of the collection, or to a text.

    Vectors may also be sent as rows of little-endian float32 (`application/octet-stream`) or as an `.npy` file
    (`application/x-npy`); how to search then stands in the query string.
    """
    return await search(state_of(request), request, name)


async def search(state: State, request: Request, name: str) -> Response:
    """What :func:`search_route` answers; the gate comes here directly."""
    since = time.perf_counter()
    served = state.served(name)
    headers = dict(request.scope["headers"])
    body = await bodies.read(request.receive, headers, state.settings.limits.body_bytes)
    kind = bodies.content_type(headers)
    queries: Any
    if kind == bodies.JSON:
        options: SearchOptions = SearchBody.model_validate_json(body)
        queries, by_ids = await _queries(state, served, options)  # type: ignore[arg-type]
    elif kind in (bodies.RAW, bodies.NPY):
        options = SearchOptions.model_validate_strings(dict(request.query_params))
        queries, by_ids = bodies.parse_rows(kind, body, served.n_features), False
    else:
        raise bodies.unsupported(kind, bodies.JSON, bodies.RAW, bodies.NPY)
    ask = searching.Ask.of(served, options, len(queries), by_ids=by_ids)
    found = await state.batcher.search(ask, queries)
    write = _binary if headers.get(b"accept") == b"application/octet-stream" else _json
    if found.matches.ids.size >= searching.LARGE:
        return await state.in_thread(write, ask, found, since)
    return write(ask, found, since)


async def _queries(state: State, served: Served, body: SearchBody) -> tuple[Any, bool]:
    """The queries as vectors or as ids, and whether they are ids."""
    given = [way for way in WAYS if getattr(body, way) is not None]
    if len(given) != 1:
        raise ApiError(422, "invalid", f"give exactly one of {', '.join(WAYS)}, got {', '.join(given) or 'none'}")
    if body.vector is not None:
        return _vectors(served, [body.vector]), False
    if body.vectors is not None:
        return _vectors(served, body.vectors), False
    if body.text is not None:
        return _vectors(served, await _encoded(state, body.text)), False
    return (body.ids if body.ids is not None else [body.id]), True


def _vectors(served: Served, rows: Any) -> Any:
    """Rows of one length as an array; whether its numbers are finite in float32 is seen when they are encoded."""
    if {*map(len, rows)} != {served.n_features}:
        return as_vectors(rows, n_features=served.n_features, name="vectors", owner="the collection")
    with np.errstate(over="ignore"):
        return np.array(rows, np.float32)


async def _encoded(state: State, text: str) -> Any:
    encoder = state.settings.text_encoder
    if encoder is None:
        raise ApiError(422, "invalid", "this server has no text encoder", "start it with --text-encoder")
    return as_vectors(await state.in_thread(encoder, [text]), name="the encoded text")


def _json(ask: searching.Ask, found: searching.Found, since: float) -> Response:
    return json_answer(searching.answer(ask, found, since))


def _binary(_: searching.Ask, found: searching.Found, __: float) -> Response:
    """The ids, then the distances, as little-endian int64 and float32; -1 and infinity where nothing was found."""
    ids, distances = found.matches
    names = ids.ravel().tolist()
    kinds = {*map(type, names)}
    if str in kinds:
        raise ApiError(406, "not_acceptable", "ids that are text have no binary form", "ask for application/json")
    numbers = np.array(names if kinds == {int} else [-1 if name is None else name for name in names], "<i8")
    shape = f"{ids.shape[0]},{ids.shape[1]}"
    data = numbers.tobytes() + distances.astype("<f4").tobytes()
    return Response(data, headers={"x-rankhash-shape": shape}, media_type=bodies.RAW)

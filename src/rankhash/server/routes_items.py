"""Collections and their items: what there is, and changes of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from ..collection import Item, Snapshot
from ..errors import IdError
from . import bodies, openapi
from .errors import ApiError
from .images import read_image
from .models import (
    AddAnswer,
    AddBody,
    CollectionsAnswer,
    CollectionStats,
    DeleteAnswer,
    DeleteBody,
    ItemsAnswer,
    Where,
)
from .models import Item as ItemModel
from .served import Served
from .settings import VERSION
from .state import State, json_answer, state_of

router = APIRouter()

Kind = Literal["string", "integer"]
IdKind = Annotated[
    Kind | None, Query(alias="type", description="What an id such as 17 is; an integer if there is one.")
]


@router.get("/v1/collections", responses=openapi.answers(CollectionsAnswer), summary="List the collections")
async def list_collections(request: Request) -> Response:
    """All collections, what they can do, and the limits of requests."""
    state = state_of(request)

    def look() -> dict[str, Any]:
        infos = [served.info() for served in state.collections.values()]
        return {"collections": infos, "version": VERSION, "limits": vars(state.settings.limits)}

    return json_answer(await state.in_thread(look))


@router.get(
    "/v1/collections/{name}", responses=openapi.answers(CollectionStats, 404, 422), summary="Describe a collection"
)
async def describe(request: Request, name: str) -> Response:
    """What a collection is made of, and how large it is."""
    state = state_of(request)
    return json_answer(await state.in_thread(state.served(name).stats))


@router.get("/v1/collections/{name}/items", responses=openapi.answers(ItemsAnswer, 404, 422), summary="List items")
async def list_items(
    request: Request,
    name: str,
    offset: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=0)] = 48,
    where: Where | None = None,
) -> Response:
    """Items in the order in which they were added, and how many there are under the filter."""
    state = state_of(request)
    served = state.served(name)
    largest = state.settings.limits.k
    if limit > largest:
        raise ApiError(422, "limit", f"limit must be at most {largest}, got {limit}", "ask for several pages")

    def look() -> dict[str, Any]:
        with served.collection.snapshot() as now:
            items = now.get(now.ids(where=where, offset=offset, limit=limit), vectors=False)
            return {"items": _shown(served, items), "total": now.count(where), "offset": offset}

    return json_answer(await state.in_thread(look))


@router.get(
    "/v1/collections/{name}/items/{id:path}", responses=openapi.answers(ItemModel, 404, 422), summary="Get an item"
)
async def get_item(request: Request, name: str, id: str, vector: bool = False, kind: IdKind = None) -> Response:
    """One item, with its stored vector if that is wanted."""
    state = state_of(request)
    served = state.served(name)
    item = await state.in_thread(_find, served, id, kind, vector)
    return json_answer(_shown(served, [item])[0])


@router.get(
    "/v1/collections/{name}/images/{id:path}",
    responses={
        **openapi.answers(None, 404, 422),
        200: {"content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}},
    },
    summary="Get the picture of an item",
    response_class=Response,
)
async def get_image(request: Request, name: str, id: str, kind: IdKind = None) -> Response:
    """The picture that the item's metadata name as `image`, from the folder that the server was given."""
    state = state_of(request)
    served = state.served(name)
    item = await state.in_thread(_find, served, id, kind, False)
    data, media = await state.in_thread(read_image, state.images, item)
    return Response(data, media_type=media, headers={"cache-control": "private, max-age=300"})


@router.post(
    "/v1/collections/{name}/items",
    openapi_extra=openapi.json_body(AddBody),
    responses=openapi.answers(AddAnswer, 403, 404, 409, 413, 415, 422),
    summary="Add items",
)
async def add_items(request: Request, name: str, upsert: bool = False) -> Response:
    """Add items, or replace those whose ids are there; what is answered for is on the disk."""
    state = state_of(request)
    served = _writable(state, name)
    body = await bodies.read_json(request, state.settings.limits.body_bytes, AddBody)
    if len(body.items) > state.settings.limits.batch:
        raise ApiError(422, "limit", f"at most {state.settings.limits.batch} items can be added by one request")
    names = [item.id for item in body.items]
    if any(given is None for given in names) and (upsert or any(given is not None for given in names)):
        raise ApiError(422, "invalid", "all items of a request must have an id" + ("" if upsert else ", or none"))
    async with served.writing:
        return json_answer(await state.in_thread(_add, served, body, upsert))


def _add(served: Served, body: AddBody, upsert: bool) -> dict[str, Any]:
    vectors: Any = [item.vector for item in body.items]
    metadata = [item.metadata for item in body.items]
    ids: Any = [item.id for item in body.items]
    if upsert:
        served.collection.upsert(vectors, ids, metadata)
    else:
        ids = served.collection.add(vectors, None if ids[0] is None else ids, metadata)
    return {"ids": ids, "n": len(ids), "generation": _generation(served)}


@router.delete(
    "/v1/collections/{name}/items",
    openapi_extra=openapi.json_body(DeleteBody),
    responses=openapi.answers(DeleteAnswer, 403, 404, 413, 415, 422),
    summary="Delete items",
)
async def delete_items(request: Request, name: str) -> Response:
    """Delete items by their ids, all of which must be there, or those that a filter passes."""
    state = state_of(request)
    served = _writable(state, name)
    body = await bodies.read_json(request, state.settings.limits.body_bytes, DeleteBody)
    if (body.ids is None) == (body.where is None):
        raise ApiError(422, "invalid", "give either ids or where")

    def delete() -> dict[str, Any]:
        deleted = served.collection.delete(body.ids, where=body.where)
        return {"deleted": deleted, "generation": _generation(served)}

    async with served.writing:
        return json_answer(await state.in_thread(delete))


def _writable(state: State, name: str) -> Served:
    served = state.served(name)
    if not served.writable:
        raise ApiError(
            403, "read_only", f"the collection {name!r} cannot be changed", "start the server with --writable"
        )
    return served


def _generation(served: Served) -> int:
    with served.collection.snapshot() as now:
        return now.generation


def _find(served: Served, text: str, kind: Kind | None, vectors: bool) -> Item:
    """The item of an id in a path: 17 is the integer if there is one, else the text."""
    with served.collection.snapshot() as now:
        number = _as_integer(text)
        if kind == "integer" and number is None:
            raise ApiError(422, "invalid", f"{text[:60]!r} is not an integer")
        if number is not None and kind != "string":
            try:
                return _get(now, number, vectors)
            except IdError:
                if kind == "integer":
                    raise
        return _get(now, text, vectors)


def _get(now: Snapshot, name: int | str, vectors: bool) -> Item:
    return now.get([name], vectors=vectors)[0]


def _as_integer(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 19):
        return None
    return int(text) if str(int(text)) == text else None


def _shown(served: Served, items: list[Item]) -> list[dict[str, Any]]:
    """Items as JSON holds them."""
    if not items:
        return []
    symbols = served.collection.layout.unpack(np.array([item.code for item in items])).tolist()
    shown = []
    for item, row in zip(items, symbols, strict=True):
        one: dict[str, Any] = {"id": item.id, "symbols": row, "metadata": item.metadata}
        if item.vector is not None:
            one["vector"] = item.vector.tolist()
        shown.append(one)
    return shown

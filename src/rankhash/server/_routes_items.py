"""Collections and their items: reading and changing them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from ..collection import Item, Snapshot
from ..collection.filters import parse
from ..errors import UnknownIdError
from . import _answer_size, _bodies, _openapi
from ._errors import ApiError
from ._images import read_image
from ._models import (
    AddAnswer,
    AddBody,
    CollectionsAnswer,
    CollectionStats,
    DeleteAnswer,
    DeleteBody,
    ItemsAnswer,
    Where,
)
from ._models import Item as ItemModel
from ._search_batch import shown_items, unknown_fields
from ._service import Service, json_answer, service_of
from .served_collection import ServedCollection
from .settings import VERSION

router = APIRouter()

Kind = Literal["string", "integer"]
IdKind = Annotated[
    Kind | None, Query(alias="type", description="What an id such as 17 is; an integer if there is one.")
]


@router.get("/v1/collections", responses=_openapi.answers(CollectionsAnswer), summary="List the collections")
async def list_collections(request: Request) -> Response:
    """All collections, what they can do, and the limits of requests."""
    service = service_of(request)

    def read() -> dict[str, Any]:
        infos = [served.info() for served in service.collections.values()]
        return {"collections": infos, "version": VERSION, "limits": vars(service.settings.limits)}

    return json_answer(await service.in_thread("lookups", read))


@router.get(
    "/v1/collections/{name}", responses=_openapi.answers(CollectionStats, 404, 422), summary="Describe a collection"
)
async def describe(request: Request, name: str) -> Response:
    """The sizes and settings of a collection."""
    service = service_of(request)
    return json_answer(await service.in_thread("lookups", service.served(name).stats))


@router.get("/v1/collections/{name}/items", responses=_openapi.answers(ItemsAnswer, 404, 422), summary="List items")
async def list_items(
    request: Request,
    name: str,
    offset: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=0)] = 48,
    where: Where | None = None,
) -> Response:
    """Items in the order in which they were added, and how many there are under the filter."""
    service = service_of(request)
    served = service.served(name)
    limits = service.settings.limits
    _answer_size.check_page(limit, limits.k)
    if where is not None:
        parse(where)

    def read() -> dict[str, Any]:
        with served.collection.snapshot(timeout=limits.search_seconds, warn=False) as snapshot:
            warnings = [] if where is None else unknown_fields(snapshot, where)
            names = snapshot.ids(where=where, offset=offset, limit=limit)
            n_symbols = 0 if snapshot.layout is None else snapshot.layout.n_symbols
            _answer_size.check(snapshot, names, names, limits.answer_bytes, metadata=True, symbols=n_symbols)
            items = snapshot.get(names, vectors=False)
            page = {
                "items": shown_items(served.collection.layout, items),
                "total": snapshot.count(where),
                "offset": offset,
            }
            return page | ({"warnings": warnings} if warnings else {})

    return json_answer(await service.in_thread("reads" if where else "lookups", read))


@router.get(
    "/v1/collections/{name}/items/{id:path}", responses=_openapi.answers(ItemModel, 404, 422), summary="Get an item"
)
async def get_item(request: Request, name: str, id: str, vector: bool = False, kind: IdKind = None) -> Response:
    """One item, with its stored vector if that is wanted."""
    service = service_of(request)
    served = service.served(name)
    item = await service.in_thread("lookups", _find, served, id, kind, vector)
    return json_answer(shown_items(served.collection.layout, [item])[0])


@router.get(
    "/v1/collections/{name}/images/{id:path}",
    responses={
        **_openapi.answers(None, 404, 422),
        200: {"content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}},
    },
    summary="Get the image of an item",
    response_class=Response,
)
async def get_image(request: Request, name: str, id: str, kind: IdKind = None) -> Response:
    """The image that the item names in its metadata field `image`, from the server's folder of images."""
    service = service_of(request)
    served = service.served(name)
    item = await service.in_thread("lookups", _find, served, id, kind, False)
    data, media = await service.in_thread("lookups", read_image, service.images, item)
    return Response(data, media_type=media, headers={"cache-control": "private, max-age=300"})


@router.post(
    "/v1/collections/{name}/items",
    openapi_extra=_openapi.json_body(AddBody),
    responses=_openapi.answers(AddAnswer, 403, 404, 409, 413, 415, 422),
    summary="Add items",
)
async def add_items(request: Request, name: str, upsert: bool = False) -> Response:
    """Add items, or replace those whose ids are in the collection; the change is durable when the answer comes."""
    service = service_of(request)
    served = _writable(service, name)
    body = await _bodies.read_json(request, service.settings.limits.body_bytes, AddBody)
    if len(body.items) > service.settings.limits.batch:
        raise ApiError(422, "limit", f"at most {service.settings.limits.batch} items can be added by one request")
    names = [item.id for item in body.items]
    if any(given is None for given in names) and (upsert or any(given is not None for given in names)):
        raise ApiError(422, "invalid", "all items of a request must have an id" + ("" if upsert else ", or none"))
    async with served.writing:
        return json_answer(await service.in_thread("changes", _add, served, body, upsert))


def _add(served: ServedCollection, body: AddBody, upsert: bool) -> dict[str, Any]:
    vectors: Any = [item.vector for item in body.items]
    metadata = [item.metadata for item in body.items]
    ids: Any = [item.id for item in body.items]
    if upsert:
        served.collection.upsert(vectors, ids, metadata, view=body.view)
    else:
        ids = served.collection.add(vectors, None if ids[0] is None else ids, metadata, view=body.view)
    return {"ids": ids, "n": len(ids), "generation": _generation(served)}


@router.delete(
    "/v1/collections/{name}/items",
    openapi_extra=_openapi.json_body(DeleteBody),
    responses=_openapi.answers(DeleteAnswer, 403, 404, 413, 415, 422),
    summary="Delete items",
)
async def delete_items(request: Request, name: str) -> Response:
    """Delete items by their ids, all of which must be there, or those that a filter passes."""
    service = service_of(request)
    served = _writable(service, name)
    body = await _bodies.read_json(request, service.settings.limits.body_bytes, DeleteBody)
    if (body.ids is None) == (body.where is None):
        raise ApiError(422, "invalid", "give either ids or where")
    if body.where is not None:
        parse(body.where)

    def delete() -> dict[str, Any]:
        deleted = served.collection.delete(body.ids, where=body.where)
        return {"deleted": deleted, "generation": _generation(served)}

    async with served.writing:
        return json_answer(await service.in_thread("changes", delete))


def _writable(service: Service, name: str) -> ServedCollection:
    served = service.served(name)
    if not served.writable:
        raise ApiError(
            403, "read_only", f"the collection {name!r} cannot be changed", "start the server with --writable"
        )
    return served


def _generation(served: ServedCollection) -> int:
    with served.collection.snapshot() as snapshot:
        return snapshot.generation


def _find(served: ServedCollection, text: str, kind: Kind | None, vectors: bool) -> Item:
    """The item of an id in a path: 17 is the integer id if it exists, else the text."""
    with served.collection.snapshot() as snapshot:
        number = _as_integer(text)
        if kind == "integer" and number is None:
            raise ApiError(422, "invalid", f"{text[:60]!r} is not an integer")
        if number is not None and kind != "string":
            try:
                return _get(snapshot, number, vectors)
            except UnknownIdError:
                if kind == "integer":
                    raise
        return _get(snapshot, text, vectors)


def _get(snapshot: Snapshot, name: int | str, vectors: bool) -> Item:
    return snapshot.get([name], vectors=vectors)[0]


def _as_integer(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 19):
        return None
    return int(text) if str(int(text)) == text else None

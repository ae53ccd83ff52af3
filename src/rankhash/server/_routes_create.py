"""``POST /v1/collections``: a new collection in the server's folder."""

from __future__ import annotations

import os
import re
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ..collection import Collection
from . import _bodies, _openapi
from ._errors import ApiError
from ._models import CollectionStats, CreateBody
from ._service import Service, json_answer, service_of
from .served_collection import SUFFIX, ServedCollection

router = APIRouter()

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""A name is also the stem of a file; these characters cannot lead to another folder"""


@router.post(
    "/v1/collections",
    openapi_extra=_openapi.json_body(CreateBody),
    responses=_openapi.answers(CollectionStats, 403, 409, 413, 415, 422),
    summary="Create a collection",
)
async def create_collection(request: Request) -> Response:
    """Create an empty collection without a hasher, a file in the folder that the server was started with."""
    service = service_of(request)
    folder = service.settings.folder
    if folder is None:
        raise ApiError(403, "read_only", "this server does not create collections", "start it with --folder")
    body = await _bodies.read_json(request, service.settings.limits.body_bytes, CreateBody)
    if not NAME.fullmatch(body.name):
        raise ApiError(422, "invalid", f"{body.name!r:.110} cannot be a name; use letters, digits, - and _")
    async with service.creating:
        return json_answer(await service.in_thread("changes", _create, service, folder, body))


def _create(service: Service, folder: str, body: CreateBody) -> dict[str, Any]:
    most = service.settings.limits.collections
    if len(service.collections) >= most:
        raise ApiError(422, "limit", f"this server has {most} collections, as many as it may have")
    path = os.path.join(folder, body.name + SUFFIX)
    if body.name in service.collections or os.path.lexists(path):
        raise ApiError(409, "name_taken", f"there is a collection {body.name!r} already", "choose another name")
    made = Collection.create(path, metric=body.metric, recall=body.recall, store_vectors=body.store_vectors)
    served = ServedCollection(body.name, made, service.settings)
    service.take(served)
    return served.stats()

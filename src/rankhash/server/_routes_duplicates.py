"""``GET /v1/collections/{name}/duplicates``."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from . import _answer_size, _openapi
from ._errors import ApiError
from ._models import DuplicatesAnswer
from ._search_batch import shown_items
from ._service import json_answer, service_of
from .served_collection import ServedCollection
from .settings import Limits

router = APIRouter()


@router.get(
    "/v1/collections/{name}/duplicates",
    responses=_openapi.answers(DuplicatesAnswer, 404, 422),
    summary="List groups of near-duplicates",
)
async def list_duplicates(
    request: Request,
    name: str,
    radius: Annotated[float, Query(ge=0, allow_inf_nan=False)],
    offset: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=0)] = 24,
) -> Response:
    """Groups of items that pairs within the radius connect; the radius is a distance of codes, or of vectors if there
    is no hasher."""
    service = service_of(request)
    served = service.served(name)
    limits = service.settings.limits
    _answer_size.check_page(limit, limits.k)
    return json_answer(await service.in_thread("reads", _page, served, limits, radius, offset, limit))


def _page(served: ServedCollection, limits: Limits, radius: float, offset: int, limit: int) -> dict[str, Any]:
    with served.collection.snapshot(timeout=limits.search_seconds, warn=False) as snapshot:
        if len(snapshot) > limits.stored:
            raise ApiError(
                422,
                "limit",
                f"groups are found among at most {limits.stored} items, and there are {len(snapshot)}",
                "use `rankhash dedup` for larger collections",
            )
        groups = served.duplicates(snapshot, radius, limits.matches)
        page = groups[offset : offset + limit]
        names = [name for group in page for name in group]
        n_symbols = 0 if snapshot.layout is None else snapshot.layout.n_symbols
        _answer_size.check(snapshot, names, names, limits.answer_bytes, metadata=True, symbols=n_symbols)
        items = iter(shown_items(snapshot.layout, snapshot.get(names, vectors=False)))
        return {
            "groups": [[next(items) for _ in group] for group in page],
            "total": len(groups),
            "n_items": sum(map(len, groups)),
            "offset": offset,
            "generation": snapshot.generation,
        }

"""Routes for monitoring: ``/healthz``, ``/readyz``, ``/metrics``."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from . import _openapi
from ._errors import ApiError
from ._metrics import family, histogram
from ._models import Status
from ._service import Service, json_answer, service_of

router = APIRouter()


@router.get("/healthz", responses={200: {"model": Status}}, summary="Whether the process answers")
async def healthz() -> Response:
    """Answers as long as the process does."""
    return json_answer({"status": "ok"})


@router.get("/readyz", responses=_openapi.answers(Status), summary="Whether searches are answered")
async def readyz(request: Request) -> Response:
    """Answers 200 once every collection is in memory, and 503 before and at the end.

    A collection that cannot be read is tried again, so that a server whose file was mended becomes ready.
    """
    if not service_of(request).ready:
        raise ApiError(503, "not_ready", "the collections are being read", "try again in a second")
    return json_answer({"status": "ready"})


@router.get("/metrics", response_class=PlainTextResponse, responses=_openapi.answers(None), summary="Counters")
async def metrics(request: Request) -> Response:
    """Counters in Prometheus' text format."""
    service = service_of(request)
    sizes = await service.in_thread("lookups", _sizes, service)
    text = "\n".join(_lines(service, sizes)) + "\n"
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _sizes(service: Service) -> dict[str, int]:
    return {name: len(served.collection) for name, served in service.collections.items()}


def _lines(service: Service, sizes: dict[str, int]) -> list[str]:
    counters, batcher = service.metrics, service.batcher
    requests = {f'{{route="{route}",status="{status}"}}': n for (route, status), n in sorted(counters.requests.items())}
    items = {f'{{collection="{_escaped(name)}"}}': n for name, n in sizes.items()}
    return [
        *family("rankhash_requests_total", "counter", "Requests that were answered.", requests),
        *histogram("rankhash_request_seconds", "How long answers took.", counters.times, counters.seconds),
        *family("rankhash_requests_in_flight", "gauge", "Requests being answered.", {"": counters.in_flight}),
        *family("rankhash_batches_total", "counter", "Native searches.", {"": batcher.n_batches}),
        *family("rankhash_batched_requests_total", "counter", "Requests in them.", {"": batcher.n_requests}),
        *family("rankhash_queries_total", "counter", "Queries in them.", {"": batcher.n_rows}),
        *family("rankhash_items", "gauge", "Items of a collection.", items),
    ]


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

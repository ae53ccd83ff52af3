"""Answers with errors: ``{"error": {"code", "message", "hint"}}``.

::

    400 bad_request  bad_json          401 no_token            403 read_only        404 not_found  unknown_id
    405 method_not_allowed             406 not_acceptable      408 timeout          409 id_taken, name_taken
    413 too_large                      415 unsupported_type    421 wrong_host       422 invalid  bad_filter  limit
    429 too_many_requests              431 too_large           500 internal         503 busy  timeout  storage
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ..errors import (
    BusyError,
    DeadlineError,
    FileFormatError,
    FilterError,
    IdError,
    InvalidInputError,
    RankhashError,
    StorageError,
    TakenIdError,
    UnknownIdError,
)

if TYPE_CHECKING:
    from fastapi import FastAPI

log = logging.getLogger("rankhash.server")

CODES = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_type",
}


class ApiError(Exception):
    """An error answer: status, code, message and hint."""

    def __init__(
        self, status: int, code: str, message: str, hint: str | None = None, *, position: int | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint, self.position = status, code, message, hint, position

    @property
    def body(self) -> bytes:
        """The error as JSON."""
        error: dict[str, Any] = {"code": self.code, "message": self.message, "hint": self.hint}
        if self.position is not None:
            error["position"] = self.position
        return json.dumps({"error": error}).encode()

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the answer: Retry-After, WWW-Authenticate, Connection."""
        if self.status in (429, 503):
            return {"retry-after": "1"}
        if self.status == 401:
            return {"www-authenticate": "Bearer"}
        return {"connection": "close"} if self.status in (408, 413) else {}

    def response(self) -> Response:
        """The error as an answer."""
        return Response(self.body, self.status, self.headers, "application/json")


def translated(error: Exception) -> ApiError:
    """The answer for an error; an unexpected error is logged and answered without details."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, FilterError):
        return ApiError(422, "bad_filter", str(error), "see the guide on filters", position=error.position)
    if isinstance(error, UnknownIdError):
        return ApiError(404, "unknown_id", str(error))
    if isinstance(error, TakenIdError):
        return ApiError(409, "id_taken", str(error), "?upsert=1 replaces items")
    if isinstance(error, DeadlineError):
        return timed_out()
    if isinstance(error, FileFormatError):
        log.error("%s", error)
        return ApiError(503, "storage", "the collection's file is damaged", "`rankhash check` says where")
    if isinstance(error, BusyError):
        return ApiError(503, "busy", "another process is writing to the collection", "try again later")
    if isinstance(error, StorageError):
        log.error("%s", error)
        return ApiError(
            503, "storage", "the collection's file cannot be read or written now", "the server's log says why"
        )
    if isinstance(error, (InvalidInputError, IdError)):
        return ApiError(422, "invalid", str(error))
    if isinstance(error, (ValidationError, RequestValidationError)):
        return invalid(error)
    if isinstance(error, HTTPException):
        return _http_error(error)
    if isinstance(error, ClientDisconnect):
        return ApiError(400, "disconnected", "the client went away")
    if not isinstance(error, RankhashError):
        log.error("a request failed", exc_info=error)
    return ApiError(500, "internal", "the server failed to answer", "the server's log says why")


def timed_out() -> ApiError:
    """The error for a request that took longer than the limit."""
    return ApiError(503, "timeout", "the search took too long", "try again, or ask for less")


def invalid(error: ValidationError | RequestValidationError) -> ApiError:
    """The first validation error of a body or of parameters."""
    first = error.errors()[0]
    if first["type"] in ("json_invalid", "json_type"):
        return ApiError(400, "bad_json", f"the body is not JSON: {first['msg']}")
    place = ".".join(str(part) for part in first["loc"] if part not in ("query", "path", "body"))
    message = first["msg"][:1].lower() + first["msg"][1:]
    return ApiError(422, "invalid", f"{place}: {message}" if place else message, "GET /openapi.json describes requests")


def _http_error(error: HTTPException) -> ApiError:
    code = CODES.get(error.status_code, "bad_request")
    hint = {404: "GET /openapi.json lists what there is", 405: "GET /openapi.json lists what there is"}
    return ApiError(error.status_code, code, f"{error.detail}".rstrip("."), hint.get(error.status_code))


def install(app: FastAPI) -> None:
    """Make the app answer every error as an ApiError."""

    async def answer(_: Request, error: Exception) -> Response:
        response = translated(error).response()
        if isinstance(error, HTTPException) and error.headers:
            response.headers.update(error.headers)
        return response

    for kind in (
        ApiError,
        RankhashError,
        ValidationError,
        RequestValidationError,
        HTTPException,
        ClientDisconnect,
        Exception,
    ):
        app.add_exception_handler(kind, answer)

"""Request bodies: read up to a size limit, then parsed as JSON or as rows of float32."""

from __future__ import annotations

import io
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

from .._types import F32
from ..readers.npy import read_npy_header
from ..vectors import as_vectors
from ._errors import ApiError

Headers = dict[bytes, bytes]
M = TypeVar("M", bound=BaseModel)

RAW = "application/octet-stream"
NPY = "application/x-npy"
JSON = "application/json"


async def read(receive: Receive, headers: Headers, limit: int) -> bytes:
    """The whole body; an ApiError if it exceeds ``limit`` bytes."""
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or len(length) > 18 or int(length) > limit:
        raise _too_large(limit)
    message = await receive()
    body: bytes = message.get("body", b"")
    if message["type"] == "http.request" and not message.get("more_body"):
        if len(body) > limit:
            raise _too_large(limit)
        return body
    parts, size = [body], len(body)
    while message.get("more_body"):
        if size > limit:
            raise _too_large(limit)
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    if size > limit:
        raise _too_large(limit)
    return b"".join(parts)


def _too_large(limit: int) -> ApiError:
    return ApiError(413, "too_large", f"a body may have at most {limit} bytes", "send less in one request")


def content_type(headers: Headers) -> str:
    """The media type of the body, without its parameters; JSON if the request names none."""
    given = headers.get(b"content-type")
    return JSON if given is None else given.decode("latin-1").partition(";")[0].strip().lower()


async def read_json(request: Request, limit: int, model: type[M]) -> M:
    """The JSON body, validated by ``model``."""
    headers = dict(request.scope["headers"])
    kind = content_type(headers)
    if kind != JSON:
        raise unsupported(kind, JSON)
    return model.model_validate_json(await read(request.receive, headers, limit))


def unsupported(kind: str, *known: str) -> ApiError:
    """The error for a body of an unsupported media type."""
    return ApiError(415, "unsupported_type", f"the body must be {' or '.join(known)}, got {kind[:60]!r}")


def parse_rows(kind: str, body: bytes, n_features: int | None) -> F32:
    """The vectors in a body of raw float32 rows or of an .npy file."""
    if kind == NPY:
        return as_vectors(_npy(body), n_features=n_features, name="the body", owner="the collection")
    if n_features is None:
        raise ApiError(422, "invalid", "the collection is empty, so that the length of its vectors is not known")
    if not body or len(body) % (4 * n_features):
        row = f"{n_features} float32 numbers, {4 * n_features} bytes"
        raise ApiError(422, "invalid", f"the body must be rows of {row} each, got {len(body)} bytes")
    return np.frombuffer(body, "<f4").reshape(-1, n_features)


def _npy(body: bytes) -> NDArray[np.generic]:
    """The array in an .npy body; never allocates more than the size of the body."""
    file = io.BytesIO(body)
    try:
        header = read_npy_header(file)
    except ValueError as error:
        raise ApiError(422, "invalid", f"the body is not an .npy file: {error}"[:300]) from None
    data = body[file.tell() :]
    if header.dtype.kind not in "fiub" or len(header.shape) != 2 or header.n_bytes != len(data):
        found = f"{header.shape} of {header.dtype}"
        raise ApiError(422, "invalid", f"the .npy file must hold a matrix of numbers, got {found}"[:300])
    return np.frombuffer(data, header.dtype).reshape(header.shape, order="F" if header.by_column else "C")

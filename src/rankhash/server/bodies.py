"""Bodies of requests: read up to a limit, then JSON or rows of float32."""

from __future__ import annotations

import io
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

from ..vectors import as_vectors
from .errors import ApiError

F32 = NDArray[np.float32]
Headers = dict[bytes, bytes]
M = TypeVar("M", bound=BaseModel)

RAW = "application/octet-stream"
NPY = "application/x-npy"
JSON = "application/json"


async def read(receive: Receive, headers: Headers, limit: int) -> bytes:
    """The whole body, of at most ``limit`` bytes."""
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
    """The media type of the body, without parameters; JSON if none is named."""
    given = headers.get(b"content-type")
    return JSON if given is None else given.decode("latin-1").partition(";")[0].strip().lower()


async def read_json(request: Request, limit: int, model: type[M]) -> M:
    """The body as the model describes it."""
    headers = dict(request.scope["headers"])
    kind = content_type(headers)
    if kind != JSON:
        raise unsupported(kind, JSON)
    return model.model_validate_json(await read(request.receive, headers, limit))


def unsupported(kind: str, *known: str) -> ApiError:
    """The error for a body of another kind."""
    return ApiError(415, "unsupported_type", f"the body must be {' or '.join(known)}, got {kind[:60]!r}")


def parse_rows(kind: str, body: bytes, n_features: int) -> F32:
    """Vectors of a body of float32 rows or of an .npy file."""
    if kind == NPY:
        return as_vectors(_npy(body), n_features=n_features, name="the body", owner="the collection")
    if not body or len(body) % (4 * n_features):
        row = f"{n_features} float32 numbers, {4 * n_features} bytes"
        raise ApiError(422, "invalid", f"the body must be rows of {row} each, got {len(body)} bytes")
    return np.frombuffer(body, "<f4").reshape(-1, n_features)


def _npy(body: bytes) -> NDArray[np.generic]:
    """The array of an .npy file; nothing is allocated that the body does not hold."""
    file = io.BytesIO(body)
    try:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"its version is {version}")
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = header(file)
    except (ValueError, SyntaxError, TypeError, KeyError, OverflowError, RecursionError, MemoryError) as error:
        raise ApiError(422, "invalid", f"the body is not an .npy file: {error}"[:300]) from None
    data = body[file.tell() :]
    n = 1
    for size in shape:
        n *= size
    if dtype.kind not in "fiub" or len(shape) != 2 or min(shape) < 0 or n * dtype.itemsize != len(data):
        raise ApiError(422, "invalid", f"the .npy file must hold a matrix of numbers, got {shape} of {dtype}"[:300])
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")

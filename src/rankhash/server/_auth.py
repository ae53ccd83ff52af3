"""Authorisation: changes need a token, and so does every read from another machine."""

from __future__ import annotations

import hmac

from ._errors import ApiError
from .settings import LOCAL, Settings

PUBLIC = ("/healthz", "/readyz")
"""Paths that never need a token, like the page and its files, since they expose no data."""


def check(settings: Settings, method: str, path: str, headers: dict[bytes, bytes]) -> None:
    """Raise an ApiError unless the request is allowed."""
    if settings.is_local:
        _check_host(headers.get(b"host", b"").decode("latin-1"), settings.host)
    changes = path.startswith("/v1/") and (method == "DELETE" or (method == "POST" and not path.endswith("/search")))
    if changes and not settings.writable:
        raise ApiError(403, "read_only", "this server does not change collections", "start it with --writable")
    data = path.startswith("/v1/") or path in ("/metrics", "/openapi.json")
    if changes or (data and settings.reads_need_token):
        _check_token(settings.token, headers.get(b"authorization", b""))


def _check_token(token: str | None, header: bytes) -> None:
    scheme, _, given = header.partition(b" ")
    right = token is not None and hmac.compare_digest(given.strip(), token.encode())
    if scheme.lower() != b"bearer" or not right:
        raise ApiError(
            401,
            "no_token",
            "this request needs the server's token" if not header else "the token is wrong",
            "send it as the header `Authorization: Bearer TOKEN`",
        )


def _check_host(host: str, own: str) -> None:
    """Refuse requests under a foreign host name: protects a local server against DNS rebinding."""
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if name.strip("[]").lower() not in (*LOCAL, own):
        raise ApiError(
            421,
            "wrong_host",
            f"this server answers for 127.0.0.1 and localhost only, not for {host[:100]!r}",
            "start it with --host and a token to serve other machines",
        )

"""The page at ``/`` and its files, which are read once."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ._errors import ApiError

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
}


def read_files() -> dict[str, tuple[bytes, str]]:
    """The files of the page by name: contents and media type."""
    folder = files(__package__) / "page"
    if not folder.is_dir():
        return {}
    found = {}
    for file in folder.iterdir():
        kind = TYPES.get("." + file.name.rpartition(".")[2])
        if kind is not None and file.is_file():
            found[file.name] = (file.read_bytes(), kind)
    return found


def make_router() -> APIRouter:
    """The routes of the page; the name in a request is looked up among the files that were read, never on disk."""
    router = APIRouter(include_in_schema=False)
    known = read_files()

    def serve(name: str) -> Response:
        if name not in known:
            raise ApiError(404, "not_found", f"there is no file {name[:100]!r}")
        data, kind = known[name]
        return Response(data, headers={"content-security-policy": POLICY, "cache-control": "no-cache"}, media_type=kind)

    @router.get("/")
    async def index() -> Response:
        return serve("index.html")

    @router.get("/static/{name:path}")
    async def static(request: Request) -> Response:
        return serve(request.path_params["name"])

    return router

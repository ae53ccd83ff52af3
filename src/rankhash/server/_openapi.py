"""Parts of the OpenAPI description that FastAPI cannot derive from the routes."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from ._bodies import JSON, NPY, RAW
from ._models import ErrorAnswer, SearchBody, SearchOptions

REASONS = {
    400: "This is not HTTP, or the body is not JSON.",
    401: "A token is needed.",
    403: "The server does not change collections.",
    404: "There is no such collection or item.",
    406: "There is no such form of the answer.",
    408: "The body did not arrive in time.",
    409: "An id or a name is taken.",
    413: "The body is too large.",
    415: "The body is of another type.",
    421: "The server does not answer for this host.",
    422: "Something in the request cannot be used.",
    431: "The head of the request is too large.",
    429: "Too many requests at once.",
    503: "It took too long, or the file cannot be used now.",
}
ALWAYS = (400, 401, 408, 421, 429, 431, 503)


def answers(model: type[BaseModel] | None, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers of a route: that of success, and errors."""
    known: dict[int | str, dict[str, Any]] = {200: {"model": model}} if model is not None else {}
    for status in sorted({*statuses, *ALWAYS}):
        known[status] = {"model": ErrorAnswer, "description": REASONS[status]}
    return known


def json_body(model: type[BaseModel]) -> dict[str, Any]:
    """A body in JSON."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": _schema(model)}}}}


def search_body() -> dict[str, Any]:
    """The three bodies of a search; the options of the binary ones are in the query string."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    content = {JSON: {"schema": _schema(SearchBody)}, RAW: binary, NPY: binary}
    parameters = [
        {"name": name, "in": "query", "required": False, "schema": schema, "description": "Of binary bodies."}
        for name, schema in _schema(SearchOptions)["properties"].items()
    ]
    return {"requestBody": {"required": True, "content": content}, "parameters": parameters}


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a model, with referenced schemas inlined."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})

    def inside(value: Any) -> Any:
        if isinstance(value, dict):
            if "$ref" in value:
                return inside(definitions[value["$ref"].rpartition("/")[2]])
            return {name: inside(part) for name, part in value.items()}
        return [inside(part) for part in value] if isinstance(value, list) else value

    made: dict[str, Any] = inside(schema)
    return made

"""What requests and answers look like: bodies are checked by these models, and the OpenAPI description shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Id = Annotated[int, Field(ge=-(2**63), le=2**63 - 2)] | Annotated[str, Field(min_length=1, max_length=4096)]
Vector = Annotated[list[float], Field(min_length=1)]
Where = Annotated[str, Field(max_length=20_000, examples=["price < 20 and colour in ('red', 'blue')"])]
Scoring = Literal["hamming", "weighted", "asymmetric"]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class SearchOptions(_Request):
    """How to search."""

    k: int = Field(10, ge=1, description="How many items for each query.")
    radius: float | None = Field(None, ge=0, description="Leave out items whose codes are farther away.")
    where: Where | None = Field(None, description="Only among items that pass this filter over the metadata.")
    scoring: Scoring = Field("hamming", description="What a distance is.")
    rerank: int | None = Field(None, ge=1, description="Order so many candidates by their stored vectors.")
    truth: bool = Field(False, description="Say which matches are true neighbours by stored vectors.")
    histogram: bool = Field(False, description="Count all items by their distance.")
    metadata: bool = Field(False, description="Give the metadata of matches.")
    symbols: bool = Field(False, description="Give the symbols of queries and matches.")


class SearchBody(SearchOptions):
    """One or many queries, given in one of five ways, and how to search."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"vectors": [[0.5, 1.25, -3.0]], "k": 2}]})

    vectors: Annotated[list[Vector], Field(min_length=1)] | None = Field(None, description="Query vectors.")
    vector: Vector | None = Field(None, description="One query vector.")
    ids: Annotated[list[Id], Field(min_length=1)] | None = Field(None, description="Search what is like these items.")
    id: Id | None = Field(None, description="Search what is like this item.")
    text: Annotated[str, Field(max_length=100_000)] | None = Field(None, description="A text for the text encoder.")


class NewItem(_Request):
    """An item to keep."""

    id: Id | None = Field(None, description="Without one it gets the next number; all items of a request or none.")
    vector: Vector
    metadata: dict[str, Any] | None = None


class AddBody(_Request):
    """Items to add, all of them or none."""

    items: Annotated[list[NewItem], Field(min_length=1)]


class DeleteBody(_Request):
    """Which items to delete: by their ids, or all that a filter passes."""

    ids: Annotated[list[Id], Field(min_length=1)] | None = None
    where: Where | None = None


# -- answers, described only ---------------------------------------------------------------------------------------


class ErrorDetail(BaseModel):
    """What is wrong, and what to do."""

    code: str
    message: str
    hint: str | None
    position: int | None = Field(None, description="The character of the filter where the mistake is, from 0.")


class ErrorAnswer(BaseModel):
    """Every answer with a status of 400 or more."""

    error: ErrorDetail


class Item(BaseModel):
    """What a collection holds of one item."""

    id: int | str
    symbols: list[int]
    metadata: dict[str, Any] | None
    vector: list[float] | None = None


class ItemsAnswer(BaseModel):
    """A page of items."""

    items: list[Item]
    total: int
    offset: int


class CollectionInfo(BaseModel):
    """A collection that is served, and what it can do."""

    name: str
    n_items: int
    hasher: str
    n_features: int
    n_symbols: int
    arity: int
    bits: int
    store_vectors: Literal["float16", "float32"] | None
    writable: bool
    scorings: list[Scoring]
    rerank: bool
    text: bool


class CollectionStats(CollectionInfo):
    """More about a collection."""

    fingerprint: str
    indexed_fields: list[str]
    n_chunks: int
    n_dead_codes: int
    generation: int
    file_bytes: int


class CollectionsAnswer(BaseModel):
    """All collections, and the limits of requests."""

    collections: list[CollectionInfo]
    version: str
    limits: dict[str, float]


class Query(BaseModel):
    """What was asked for."""

    id: int | str | None = None
    symbols: list[int] | None = None


class Match(BaseModel):
    """An item that was found."""

    id: int | str
    distance: float | None = Field(description="null if it is beyond all numbers")
    metadata: dict[str, Any] | None = None
    symbols: list[int] | None = None
    true: bool | None = Field(None, description="Whether it is among the k nearest by stored vectors.")


class Result(BaseModel):
    """What one query found, nearest first."""

    query: Query
    matches: list[Match]
    truncated: bool = Field(description="Whether there may be more items within the radius.")
    histogram: list[int] | None = None
    recall: float | None = None


class SearchAnswer(BaseModel):
    """One result a query, in their order."""

    results: list[Result]
    took_ms: float
    generation: int


class AddAnswer(BaseModel):
    """What was kept; it is on the disk."""

    ids: list[int | str]
    n: int
    generation: int


class DeleteAnswer(BaseModel):
    """How many items were deleted."""

    deleted: int
    generation: int


class Status(BaseModel):
    """That all is well."""

    status: Literal["ok", "ready"]

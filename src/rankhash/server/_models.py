"""Models of requests and answers: request bodies are validated by them, and the OpenAPI description shows them."""

from __future__ import annotations

import contextlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ..collection.filters import MAX_LENGTH

Id = Annotated[int, Field(ge=-(2**63), le=2**63 - 2)] | Annotated[str, Field(min_length=1, max_length=4096)]
Vector = Annotated[list[float], Field(min_length=1)]
Where = Annotated[str, Field(max_length=MAX_LENGTH, examples=["price < 20 and colour in ('red', 'blue')"])]
Scoring = Literal["auto", "hamming", "weighted", "asymmetric"]

View = Annotated[str, Field(min_length=1, max_length=64, examples=["text"])]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class SearchOptions(_Request):
    """Options of a search."""

    k: int = Field(10, ge=1, description="How many items for each query.")
    radius: float | None = Field(None, description="Leave out items that are farther away.")
    where: Where | None = Field(None, description="Only among items that pass this filter over the metadata.")
    group_by: Annotated[str, Field(max_length=1000)] | None = Field(
        None, description="A field of the metadata: of items with the same value, only the nearest."
    )
    scoring: Scoring = Field("auto", description="What a distance is; auto is the best that the collection has.")
    rerank: int | None = Field(
        None, ge=0, description="Number of candidates to re-rank by their stored vectors; 0 for none, null for auto."
    )
    recall: float | None = Field(
        None, ge=0, le=1, description="Share of the true neighbours to find, for a collection without a hasher."
    )
    view: View | None = Field(None, description="The view of the vectors, for a hasher of several; null is the first.")
    truth: bool = Field(False, description="Say which matches are true neighbours by stored vectors.")
    histogram: bool = Field(False, description="Count all items by their distance.")
    metadata: bool = Field(False, description="Give the metadata of matches.")
    symbols: bool = Field(False, description="Give the symbols of queries and matches.")


class SearchBody(SearchOptions):
    """One or many queries, in exactly one of six fields, and the options of the search."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"vectors": [[0.5, 1.25, -3.0]], "k": 2}]})

    vectors: Annotated[list[Vector], Field(min_length=1)] | None = Field(None, description="Query vectors.")
    vector: Vector | None = Field(None, description="One query vector.")
    ids: Annotated[list[Id], Field(min_length=1)] | None = Field(None, description="Items to use as queries.")
    id: Id | None = Field(None, description="One item to use as query.")
    text: Annotated[str, Field(max_length=100_000)] | None = Field(None, description="A text for the text encoder.")
    like: Annotated[list[Id], Field(min_length=1)] | None = Field(
        None, description="Examples, for one query: items that are like all of these, which are left out."
    )
    unlike: list[Id] = Field([], description="With like: items that the matches should be less like.")


class NewItem(_Request):
    """A new item."""

    id: Id | None = Field(
        None, description="null assigns the next number; either all items of a request have ids or none."
    )
    vector: Vector
    metadata: dict[str, Any] | None = None

    @field_validator("metadata")
    @classmethod
    def _is_json(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        """Refuse NaN and infinity, which are no JSON; a collection would take NaN as null."""
        with contextlib.suppress(RecursionError):  # the collection refuses it as nested too deeply
            json.dumps(value, allow_nan=False)
        return value


class AddBody(_Request):
    """Items to add, all of them or none."""

    items: Annotated[list[NewItem], Field(min_length=1)]
    view: View | None = Field(None, description="The view of the vectors, for a hasher of several; null is the first.")


class CreateBody(_Request):
    """A new collection; it has no hasher and learns by itself as it grows."""

    name: str = Field(min_length=1, max_length=100, description="Letters, digits, - and _.", examples=["articles"])
    metric: Literal["cosine", "euclidean", "dot"] = Field("cosine", description="How vectors are compared.")
    recall: float = Field(0.95, ge=0, le=1, description="Share of the true neighbours that searches find.")
    store_vectors: Literal["float16", "float32"] = Field("float32", description="How vectors are stored.")


class DeleteBody(_Request):
    """The items to delete: by their ids, or all that match a filter."""

    ids: Annotated[list[Id], Field(min_length=1)] | None = None
    where: Where | None = None


# -- answers, described only ---------------------------------------------------------------------------------------


class ErrorDetail(BaseModel):
    """The error, and how to avoid it."""

    code: str
    message: str
    hint: str | None
    position: int | None = Field(None, description="Position of the mistake in the filter, counted from 0.")


class ErrorAnswer(BaseModel):
    """Every answer with a status of 400 or more."""

    error: ErrorDetail


class Item(BaseModel):
    """One item of a collection."""

    id: int | str
    symbols: list[int]
    metadata: dict[str, Any] | None
    vector: list[float] | None = None


class ItemsAnswer(BaseModel):
    """A page of items."""

    items: list[Item]
    total: int
    offset: int
    warnings: list[str] | None = Field(None, description="Probable mistakes, such as fields that no item has.")


class DuplicatesAnswer(BaseModel):
    """A page of groups of near-duplicates."""

    groups: list[list[Item]] = Field(description="Two or more items each, in the order in which they were added.")
    total: int = Field(description="Number of groups.")
    n_items: int = Field(description="Number of items in all groups.")
    offset: int
    generation: int


class CollectionInfo(BaseModel):
    """A collection, and the kinds of search that it supports."""

    name: str
    n_items: int
    hasher: str | None = Field(description="null for a collection without a hasher")
    n_features: int | None
    n_symbols: int | None
    arity: int | None
    bits: int | None
    metric: Literal["cosine", "euclidean", "dot"]
    store_vectors: Literal["float16", "float32"] | None
    writable: bool
    scorings: list[Scoring]
    rerank: bool
    text: bool
    views: list[str] = Field(description="Names of the views of a hasher of several; else empty")


class CollectionStats(CollectionInfo):
    """More about a collection."""

    fingerprint: str | None
    recall: float = Field(description="Share of the true neighbours that searches without a hasher find")
    n_learned: int | None = Field(description="Items from which a collection without a hasher has learned")
    recall_measured: float | None
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
    """The query of a result."""

    id: int | str | None = None
    symbols: list[int] | None = None


class Match(BaseModel):
    """A neighbour of the query."""

    id: int | str
    distance: float | None = Field(description="null for infinity")
    metadata: dict[str, Any] | None = None
    symbols: list[int] | None = None
    true: bool | None = Field(None, description="Whether it is among the k nearest by stored vectors.")


class Result(BaseModel):
    """The neighbours of one query, nearest first."""

    query: Query
    matches: list[Match]
    truncated: bool = Field(description="Whether there may be more items within the radius.")
    histogram: list[int] | None = None
    recall: float | None = None


class SearchAnswer(BaseModel):
    """One result per query, in the order of the queries."""

    results: list[Result]
    took_ms: float
    generation: int
    warnings: list[str] | None = Field(None, description="Probable mistakes, such as fields that no item has.")


class AddAnswer(BaseModel):
    """The ids of the items added; the change is durable."""

    ids: list[int | str]
    n: int
    generation: int


class DeleteAnswer(BaseModel):
    """The number of items that were deleted."""

    deleted: int
    generation: int


class Status(BaseModel):
    """The server is running, or ready for requests."""

    status: Literal["ok", "ready"]

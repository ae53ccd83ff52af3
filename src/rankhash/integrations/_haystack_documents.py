"""Documents of Haystack as items of a collection, and back."""

from __future__ import annotations

import math
from typing import Any

from haystack import Document

from ..collection import Item
from ._documents import similarity

EMBEDDED = "has_embedding"
"""The field that marks documents with an embedding; others have a vector that searches exclude"""
DOT_SCALE = 100
"""Divisor of inner products before the logistic function, as in Haystack's own store"""


def fields_of(document: Document) -> dict[str, Any]:
    """The metadata that a collection stores for a document: all of its fields but the embedding."""
    fields = {name: value for name, value in document.to_dict(flatten=False).items() if value is not None}
    return fields | {EMBEDDED: fields.pop("embedding", None) is not None}


def document_of(item: Item, score: float | None = None) -> Document:
    """The document of an item, with its embedding if the item's vector was read."""
    fields = dict(item.metadata or {})
    if fields.pop(EMBEDDED, False) and item.vector is not None:
        fields["embedding"] = item.vector.tolist()
    if score is not None:
        fields["score"] = score
    return Document.from_dict(fields)


def score_of(metric: str, distance: float, scaled: bool) -> float:
    """The similarity of documents at a distance; with ``scaled`` from 0 to 1."""
    score = similarity(metric, distance)
    if not scaled or metric == "euclidean":
        return score
    return (score + 1) / 2 if metric == "cosine" else 0.5 * (1 + math.tanh(score / DOT_SCALE / 2))

"""The answer to a search: JSON, or bytes."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
from starlette.responses import Response

from . import _bodies
from ._errors import ApiError
from ._search_batch import BatchKey, SearchResult
from ._service import json_answer


def as_json(key: BatchKey, found: SearchResult, since: float) -> Response:
    """The answer as JSON, in which infinite distances are null; ``since`` is the time of the request."""
    ids, distances = found.matches.ids.tolist(), found.matches.distances.tolist()
    results = [_result(key, found, row, names, distances[row]) for row, names in enumerate(ids)]
    took = round((time.perf_counter() - since) * 1000, 3)
    answer = {"results": results, "took_ms": took, "generation": found.generation}
    return json_answer(answer | ({"warnings": found.warnings} if found.warnings else {}))


def _result(key: BatchKey, found: SearchResult, row: int, names: list[Any], distances: list[float]) -> dict[str, Any]:
    """The matches of one query."""
    pairs = [pair for pair in zip(names, distances, strict=True) if pair[0] is not None]
    items = found.items
    if items:
        matches = [{"id": name, "distance": distance, **items[name]} for name, distance in pairs]
    else:
        matches = [{"id": name, "distance": distance} for name, distance in pairs]
    result: dict[str, Any] = {"query": found.queries[row] if found.queries else {}, "matches": matches}
    result["truncated"] = key.radius is not None and len(matches) == key.k
    if found.true is not None:
        true = found.true[row]
        for match in matches:
            match["true"] = match["id"] in true
        result["recall"] = sum(match["true"] for match in matches) / len(true) if true else None
    if found.histograms is not None:
        result["histogram"] = found.histograms[row]
    return result


def as_bytes(_: BatchKey, found: SearchResult, __: float) -> Response:
    """The ids, then the distances, as little-endian int64 and float32; -1 and infinity where nothing was found."""
    ids, distances = found.matches
    names = ids.ravel().tolist()
    kinds = {*map(type, names)}
    if str in kinds:
        raise ApiError(406, "not_acceptable", "ids that are text have no binary form", "ask for application/json")
    numbers = np.array(names if kinds == {int} else [-1 if name is None else name for name in names], "<i8")
    headers = {"x-rankhash-shape": f"{ids.shape[0]},{ids.shape[1]}"}
    if found.warnings:
        headers["x-rankhash-warnings"] = json.dumps(found.warnings)
    data = numbers.tobytes() + distances.astype("<f4").tobytes()
    return Response(data, headers=headers, media_type=_bodies.RAW)

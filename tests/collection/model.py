"""A slow, obvious twin of a collection: a dict, a scan and a filter that walks the tree."""

from __future__ import annotations

import re

import numpy as np

import oracles
from rankhash.collection import filters

N_FEATURES = 6
SIGNS = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def kind(value):
    for name, types in (("null", type(None)), ("bool", bool), ("number", (int, float)), ("text", str)):
        if isinstance(value, types):
            return name
    return "other"


def look_up(fields, path):
    """The value at a path such as $."a"."b", and whether it is there."""
    for name in path.removeprefix('$."').removesuffix('"').split('"."'):
        if not isinstance(fields, dict) or name not in fields:
            return None, False
        fields = fields[name]
    return fields, True


def pattern(like):
    """The regular expression of a pattern of ``like``."""
    parts = re.findall(r"\\.|[%_]|\\|[^%_\\]+", like, re.DOTALL)
    inner = "".join({"%": ".*", "_": "."}.get(part, re.escape(part.removeprefix("\\"))) for part in parts)
    return re.compile(inner, re.DOTALL | re.IGNORECASE | re.ASCII)


def passes(tree, fields):
    """Whether an item passes a filter; a test of a missing field or of another type is false."""
    if isinstance(tree, filters.Not):
        return not passes(tree.part, fields)
    if isinstance(tree, filters.And):
        return all(passes(part, fields) for part in tree.parts)
    if isinstance(tree, filters.Or):
        return any(passes(part, fields) for part in tree.parts)
    value, there = look_up(fields, tree.path)
    if isinstance(tree, filters.Contains):
        parts = value if isinstance(value, list) else []
        return any(kind(part) == kind(tree.value) and part == tree.value for part in parts)
    if isinstance(tree, filters.Like):
        return kind(value) == "text" and re.fullmatch(pattern(tree.pattern), value) is not None
    if isinstance(tree, filters.Exists) or not there:
        return there
    if isinstance(tree, filters.In):
        return any(kind(value) == kind(other) and value == other for other in tree.values)
    if isinstance(tree, filters.Between):
        return kind(value) == kind(tree.low) and tree.low <= value <= tree.high
    return kind(value) == kind(tree.value) and SIGNS[tree.operator](value, tree.value)


def distances_in(metric, queries, vectors):
    """True distances (n_queries, n), in float64."""
    queries, vectors = queries.astype(np.float64), vectors.astype(np.float64)
    if metric == "euclidean":
        return np.sqrt(((queries[:, None] - vectors[None]) ** 2).sum(axis=2))
    if metric == "dot":
        return -queries @ vectors.T
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (queries, vectors)]
    return 1 - unit[0] @ unit[1].T


class Model:
    """What a collection must answer; without a hasher it compares vectors by the metric."""

    def __init__(self, hasher, metric=None):
        self.hasher = hasher
        self.metric = metric
        self.items = {}  # id → (vector, metadata), in the order of adding
        self.next_id = 0
        self.next_number = 0

    def add(self, vectors, ids, metadata):
        if ids is None:
            start = max(self.next_id, self.next_number)
            ids = range(start, start + len(vectors))
            self.next_number = start
        metadata = metadata or [None] * len(vectors)
        for name, vector, fields in zip(ids, vectors, metadata, strict=True):
            self.items[name] = (vector, fields)
            self.next_number += 1
            if isinstance(name, int):
                self.next_id = max(self.next_id, name + 1)
        return list(ids)

    def upsert(self, vectors, ids, metadata):
        self.delete([name for name in ids if name in self.items])
        self.add(vectors, ids, metadata)

    def delete(self, ids):
        for name in ids:
            del self.items[name]

    def passing(self, where):
        tree = None if where is None else filters.parse(where)
        return [name for name, (_, fields) in self.items.items() if tree is None or passes(tree, fields)]

    def distances(self, queries, vectors):
        if self.hasher is None:
            return distances_in(self.metric, queries, vectors).astype(np.float32)
        return oracles.hamming(self.hasher.transform(queries), self.hasher.transform(vectors))

    def search(self, queries, k, where=None, radius=np.inf):
        names = self.passing(where)
        ids = np.full((len(queries), k), None, object)
        distances = np.full((len(queries), k), np.inf, np.float32)
        if names:
            away = self.distances(queries, np.array([self.items[name][0] for name in names]))
            found, near = oracles.nearest(away, np.arange(len(names)), k)
            there = (found >= 0) & (near <= radius)
            ids[there] = np.array([*names, None], object)[found[there]]
            distances[there] = near[there]
        return ids, distances


NAMES = [f"item-{i}" if i % 3 else i for i in range(300)]
METADATA = [{"n": i, "even": i % 2 == 0} if i % 5 else None for i in range(300)]

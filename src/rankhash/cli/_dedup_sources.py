"""The inputs of ``rankhash dedup``: named items, and their near pairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from .._types import I64, U8, Array
from ..codes import CodeLayout
from ..collection import Collection
from ..duplicates import NearPairs, Pairs, near_pairs, near_texts
from ..duplicates.groups import DistinctCodes
from ..duplicates.images import SUFFIXES
from ..errors import InvalidInputError
from ..opening import open_index
from ..readers import open_vectors
from ..vector_index import VectorIndex
from . import _common
from ._dedup_images import MAX_LINE, bounded_lines, hash_folder

RADII = {"codes": 3.0, "collection": 3.0, "images": 4.0}


@dataclass(frozen=True)
class DedupOptions:
    """The options that define near-duplicates."""

    radius: float | None
    threshold: float | None
    metric: str
    unit: str
    arity: int
    key: str | None
    field: str
    max_pairs: int | None
    resume: str | None


@dataclass
class Found:
    """Items by position, their near pairs, and the unreadable inputs."""

    kind: str
    names: Sequence[Any] | I64
    pairs: Pairs
    copies: DistinctCodes | None = None
    """The distinct codes, if pairs are those of distinct codes; else None"""
    sizes: Array | None = None
    """Sizes for ``--keep largest``"""
    shown: Callable[[int], str] = str
    """The text of an item for the report"""
    unreadable: list[tuple[str, str]] = field(default_factory=list)


def find(path: Path, kind: str, options: DedupOptions) -> Found:
    """The near-duplicates of a file or folder."""
    kind = kind_of(path) if kind == "auto" else kind
    if path.is_dir() != (kind == "images"):
        raise click.UsageError(f"{path} holds no {kind}: images are in a folder, everything else is in a file.")
    sources = {
        "codes": _codes,
        "collection": _collection,
        "images": _images,
        "texts": _texts,
        "vectors": _vectors,
    }
    return sources[kind](path, options)


def kind_of(path: Path) -> str:
    """The kind of a file or folder, by its name and its first bytes."""
    if path.is_dir():
        return "images"
    suffix = path.suffix.lower()
    if _common.is_collection(str(path)):
        return "collection"
    if suffix == ".txt" or (suffix == ".jsonl" and _first_line_is_text(path)):
        return "texts"
    if suffix == ".rankhash" or (suffix == ".npy" and open_vectors(str(path)).dtype == np.uint8):
        return "codes"
    return "vectors"


def _first_line_is_text(path: Path) -> bool:
    with open(path, encoding="utf-8", errors="replace") as file:
        line = file.readline(MAX_LINE)
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return True
    return isinstance(value, str) or (isinstance(value, dict) and "vector" not in value)


def _near_codes(kind: str, codes: U8, layout: CodeLayout | None, options: DedupOptions) -> tuple[Pairs, DistinctCodes]:
    """All near pairs of distinct codes, with a bar; and which codes are equal."""
    distinct = DistinctCodes.of(codes)
    radius = RADII[kind] if options.radius is None else options.radius
    found = near_pairs(codes[distinct.first], radius, layout=layout, max_pairs=options.max_pairs)
    return _arrays(found), distinct


def _arrays(pairs: NearPairs) -> Pairs:
    parts = [Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
    with _common.progress("pairs", None) as update:
        for batch in pairs:
            parts.append(batch)
            update(sum(len(part.first) for part in parts))
    return Pairs(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _codes(path: Path, options: DedupOptions) -> Found:
    if path.suffix.lower() == ".rankhash":
        index = open_index(path)
        if isinstance(index, VectorIndex):
            return _of_vectors(index, options)
        ids = index.ids
        codes, layout = index.get(ids), index.layout
    else:
        codes = np.ascontiguousarray(open_vectors(str(path), options.key).read())
        layout = _layout_of(codes, options.arity)
        ids = np.arange(len(codes))
    return Found("codes", ids, *_near_codes("codes", codes, layout, options))


def _of_vectors(index: VectorIndex, options: DedupOptions) -> Found:
    ids = index.ids
    near = index.near_pairs(_threshold(replace(options, metric=index.metric)), max_pairs=options.max_pairs)
    order = np.argsort(ids)
    first, second = (order[np.searchsorted(ids, part, sorter=order)] for part in (near.first, near.second))
    return Found("vectors", ids, Pairs(first, second, near.distances))


def _layout_of(codes: Array, arity: int) -> CodeLayout:
    width = 8 * codes.shape[1]
    return CodeLayout(width // (arity - 1).bit_length(), arity)


def _collection(path: Path, options: DedupOptions) -> Found:
    with Collection.open(path) as items, items.snapshot() as now:
        names, layout = now.ids(), items.layout
        described = now.get(names, vectors=layout is None)
        metric = items.stats().metric
    metadata = [item.metadata for item in described]
    copies = None
    if layout is None:
        index = VectorIndex(metric)
        if described:
            index.add(np.array([item.vector for item in described]))
        pairs = index.near_pairs(_threshold(replace(options, metric=metric)), max_pairs=options.max_pairs)
    else:
        rows = b"".join(item.code.tobytes() for item in described if item.code is not None)
        codes = np.frombuffer(rows, np.uint8).reshape(len(names), layout.n_bytes)
        pairs, copies = _near_codes("collection", codes, layout, options)

    def shown(place: int) -> str:
        return json.dumps(metadata[place], ensure_ascii=False) if metadata[place] is not None else ""

    return Found("collection", names, pairs, copies, shown=shown)


def _vectors(path: Path, options: DedupOptions) -> Found:
    threshold = _threshold(options)
    index = VectorIndex(options.metric)
    data = open_vectors(str(path), options.key)
    names: list[Any] = []
    with _common.progress("vectors", data.n_rows) as update:
        for block in data:
            index.add(block.vectors)
            names.extend(range(len(names), len(names) + len(block.vectors)) if block.ids is None else block.ids)
            update(len(names))
    return Found("vectors", names, index.near_pairs(threshold, max_pairs=options.max_pairs))


def _threshold(options: DedupOptions) -> float:
    """The smallest cosine, or the largest distance, of near vectors."""
    if options.threshold is None and options.metric != "cosine":
        raise click.UsageError(f"--metric {options.metric} needs --threshold, the largest distance.")
    return 0.95 if options.threshold is None else options.threshold


def _texts(path: Path, options: DedupOptions) -> Found:
    texts: list[str] = []
    names: list[int] = []
    unreadable: list[tuple[str, str]] = []
    for number, text, problem in _lines(path, options.field):
        if problem:
            unreadable.append((f"line {number}", problem))
        else:
            texts.append(text)
            names.append(number)
    pairs = near_texts(
        texts, 0.8 if options.threshold is None else options.threshold, unit=options.unit, max_pairs=options.max_pairs
    )
    sizes = np.array([len(text) for text in texts], np.int64)
    return Found("texts", names, pairs, sizes=sizes, shown=lambda place: texts[place][:2000], unreadable=unreadable)


def _lines(path: Path, name: str) -> Iterator[tuple[int, str, str]]:
    """The number of each line that is not empty, from 1 on, and its text or its error."""
    is_json = path.suffix.lower() == ".jsonl"
    with open(path, "rb") as file:
        for number, line in enumerate(bounded_lines(file), 1):
            try:
                if len(line) == MAX_LINE:
                    raise InvalidInputError(f"the line has more than {MAX_LINE} bytes")
                text = line.decode("utf-8").strip()
                if text:
                    yield number, _text_of(text, name) if is_json else text, ""
            except (ValueError, RecursionError) as error:
                yield number, "", f"{type(error).__name__}: {error}"


def _text_of(line: str, name: str) -> str:
    value = json.loads(line)
    if isinstance(value, dict):
        if name not in value:
            raise InvalidInputError(f"there is no field {name!r}")
        value = value[name]
    if not isinstance(value, str):
        raise InvalidInputError(f"{name!r} is no text")
    return value


def _images(path: Path, options: DedupOptions) -> Found:
    named = (file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES)
    files = sorted(file for file in named if file.is_file() and not file.is_symlink())
    hashed = hash_folder(files, path, options.resume)
    pairs, copies = _near_codes("images", hashed.codes, None, options)
    sizes = np.array([file.stat().st_size for file in hashed.paths], np.int64)
    unreadable = [(str(file), reason) for file, reason in hashed.unreadable]
    return Found("images", [str(file) for file in hashed.paths], pairs, copies, sizes, unreadable=unreadable)

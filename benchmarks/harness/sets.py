"""Real and synthetic vectors: data sets of the folder that ``--data`` names, their splits, and clustered draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from rankhash._types import F32, Array, Flags
from rankhash.datasets import DATASETS, Dataset, load_dataset
from rankhash.evaluation import Protocol, RadiusTruth, Split, neighbor_radius, split
from rankhash.evaluation.truth import euclidean

FILES = {
    "mnist": ("mnist.npz", ("x_train", "x_test"), ("y_train", "y_test")),
    "cifar10-gist": ("cifar10_gist512.npz", ("X",), ("y",)),
    "trivia-text": ("trivia10k_text1536.npz", ("X",), ("category",)),
    "glove": ("glove50_100k.npz", ("X",), ()),
    "sentences": ("sentences100k_minilm384.npz", ("X",), ()),
    "sift": ("sift_93k.npz", ("X",), ()),
    "wiki-image": ("wiki_crossmodal.npz", ("img_train", "img_test"), ("y_train", "y_test")),
}
"""File, arrays of vectors and arrays of classes of each set."""

N_NEIGHBORS = 50
CHUNK = 250_000


def load(folder: Path, name: str) -> Dataset:
    """A data set of the folder; ``digits`` comes with scikit-learn."""
    if name in DATASETS:
        return load_dataset(name, None if name == "digits" else folder)
    file, vectors, labels = FILES[name]
    with np.load(folder / file) as arrays:
        X = np.concatenate([arrays[key].reshape(len(arrays[key]), -1) for key in vectors])
        if "scale" in arrays:  # stored as small integers
            X = X * arrays["scale"][:, None].astype(np.float32)
        y = np.concatenate([arrays[key] for key in labels]) if labels else None
    return Dataset(name, X, y)


def paper_split(data: Dataset, seed: int, n_train: int = 1000, n_queries: int = 3000) -> Split:
    """A random split by the paper's protocol, as `rankhash.evaluation.split` makes it."""
    return split(data, Protocol(n_train, n_queries), seed)


def raw_split(data: Dataset, seed: int, n_train: int = 1000, n_queries: int = 3000) -> Split:
    """The same rows as they are in the data set, and their neighbours as they are."""
    raw = paper_split(data, seed, n_train, n_queries).raw(data)
    train = raw.train.astype(np.float64)
    radius = neighbor_radius(train, N_NEIGHBORS)
    return replace(raw, similarity=euclidean(train, train) < radius, truth=RadiusTruth(raw.queries, train, radius))


def class_split(data: Dataset, seed: int, n_train: int = 1000, n_queries: int = 1000) -> Split:
    """The same rows as they are in the data set; vectors of one class are similar."""
    return split(data, Protocol(n_train, n_queries, n_components=0, truth="classes"), seed).raw(data)


def photographs(folder: Path) -> Array:
    """The photograph that each descriptor of SIFT is from."""
    with np.load(folder / FILES["sift"][0]) as file:
        return np.asarray(file["image"])


def held_out(images: Array, share: float, rng: np.random.Generator) -> Flags:
    """Which vectors belong to some random photographs that together have at least a share of all vectors."""
    names, sizes = np.unique(images, return_counts=True)
    order = rng.permutation(len(names))
    enough = int(np.searchsorted(np.cumsum(sizes[order]), int(len(images) * share))) + 1
    return np.isin(images, names[order[:enough]])


def noisy_copies(base: F32, n: int, spread: float, rng: np.random.Generator) -> Iterator[F32]:
    """``n`` vectors in chunks: those of ``base``, then copies of them with Gaussian noise of deviation ``spread``."""
    for start in range(0, n, CHUNK):
        rows = np.arange(start, min(start + CHUNK, n))
        part = base[rows % len(base)]
        noisy = rows >= len(base)
        part[noisy] += spread * rng.standard_normal((int(noisy.sum()), base.shape[1]), dtype=np.float32)
        yield part


def clustered_vectors(n: int, d: int, *, n_centres: int = 1000, last: float = 0.2, noise: float = 0.7) -> F32:
    """Vectors around random centres.

    The standard deviation falls linearly from 1 in the first dimension to ``last`` (0.2) in the last one. Within a
    cluster it is ``noise`` (0.7) times that.
    """
    rng = np.random.default_rng(0)
    spread = np.linspace(1, last, d, dtype=np.float32)
    centres = rng.standard_normal((n_centres, d), np.float32) * spread
    vectors = np.empty((n, d), np.float32)
    for start in range(0, n, CHUNK):
        part = vectors[start : start + CHUNK]
        part[:] = centres[rng.integers(0, n_centres, len(part))]
        part += np.float32(noise) * spread * rng.standard_normal(part.shape, np.float32)
    return vectors

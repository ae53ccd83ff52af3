"""The real data sets of the quality benchmarks, from the folder that ``RANKHASH_DATA`` or ``--data`` names."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

F32 = NDArray[np.float32]

FILES = {
    "mnist": ("mnist.npz", ("x_train", "x_test"), ("y_train", "y_test")),
    "cifar10-gist": ("cifar10_gist512.npz", ("X",), ("y",)),
    "trivia-text": ("trivia10k_text1536.npz", ("X",), ("category",)),
    "glove": ("glove50_100k.npz", ("X",), ()),
    "sift": ("sift_93k.npz", ("X",), ()),
    "wiki-image": ("wiki_crossmodal.npz", ("img_train", "img_test"), ("y_train", "y_test")),
}
N_NEIGHBORS = 50


def add_data_option(parser: ArgumentParser) -> None:
    """Let a script take the folder of the data."""
    default = os.environ.get("RANKHASH_DATA", str(Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default), help="folder of the .npz files")


def load(folder: Path, name: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Vectors, one a row, and their classes if the set has any; ``digits`` comes with scikit-learn."""
    if name == "digits":
        return load_digits(return_X_y=True)
    file, vectors, labels = FILES[name]
    with np.load(folder / file) as arrays:
        X = np.concatenate([arrays[key].reshape(len(arrays[key]), -1) for key in vectors])
        y = np.concatenate([arrays[key] for key in labels]) if labels else None
    return X, y


@dataclass(frozen=True)
class Split:
    """Training vectors, which are also the database, queries, and who is similar to whom."""

    train: F32
    queries: F32
    neighbors: NDArray[np.bool_]
    relevant: NDArray[np.bool_]


def paper_split(X: NDArray[Any], seed: int, n_train: int = 1000, n_queries: int = 3000) -> Split:
    """A random split as the paper has it.

    Vectors are centred and scaled to unit length; a neighbour is closer than the mean distance to the 50th
    entry of a training vector's sorted row, measured before PCA; PCA to 40 dimensions on the training vectors.
    """
    rows = np.random.default_rng(seed).permutation(len(X))[: n_train + n_queries]
    unit = normalized(X[rows].astype(np.float64))
    train, queries = unit[:n_train], unit[n_train:]
    inside = distances(train, train)
    radius = np.sort(inside, axis=1)[:, N_NEIGHBORS - 1].mean()
    relevant = distances(queries, train) < radius
    if train.shape[1] > 40:
        pca = PCA(40, svd_solver="full").fit(train)
        train, queries = pca.transform(train), pca.transform(queries)
    return Split(train.astype(np.float32), queries.astype(np.float32), inside < radius, relevant)


def raw_split(X: NDArray[Any], seed: int, n_train: int = 1000, n_queries: int = 3000) -> Split:
    """A random split of the vectors as they are; neighbours as in :func:`paper_split`."""
    rows = np.random.default_rng(seed).permutation(len(X))[: n_train + n_queries]
    train, queries = np.split(X[rows].astype(np.float64), [n_train])
    inside = distances(train, train)
    radius = np.sort(inside, axis=1)[:, N_NEIGHBORS - 1].mean()
    relevant = distances(queries, train) < radius
    return Split(train.astype(np.float32), queries.astype(np.float32), inside < radius, relevant)


def class_split(X: NDArray[Any], y: NDArray[Any], seed: int, n_train: int = 1000, n_queries: int = 1000) -> Split:
    """A random split of the vectors as they are; those of one class are similar."""
    train, queries = np.split(np.random.default_rng(seed).permutation(len(X))[: n_train + n_queries], [n_train])
    inside, relevant = y[train, None] == y[train], y[queries, None] == y[train]
    return Split(X[train].astype(np.float32), X[queries].astype(np.float32), inside, relevant)


def normalized(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """The vectors around their mean, scaled to unit length."""
    X = X - X.mean(axis=0)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def given_neighbors(X: NDArray[np.float64], n_neighbors: int) -> NDArray[np.bool_]:
    """Which vectors are closer than the mean distance to the ``n_neighbors``-th entry of a sorted row."""
    apart = distances(X, X)
    return apart < np.sort(apart, axis=1)[:, n_neighbors - 1].mean()


def distances(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Euclidean distances of all rows of ``a`` to all rows of ``b``."""
    squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * (a @ b.T)
    return np.sqrt(np.maximum(squares, 0))

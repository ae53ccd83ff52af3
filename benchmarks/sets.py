"""The real data sets of the quality benchmarks, from the folder that ``RANKHASH_DATA`` or ``--data`` names."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankhash.datasets import Dataset
from rankhash.evaluation import Protocol, Split, split

FILES = {
    "mnist": ("mnist.npz", ("x_train", "x_test"), ("y_train", "y_test")),
    "cifar10-gist": ("cifar10_gist512.npz", ("X",), ("y",)),
    "trivia-text": ("trivia10k_text1536.npz", ("X",), ("category",)),
    "glove": ("glove50_100k.npz", ("X",), ()),
    "sift": ("sift_93k.npz", ("X",), ()),
    "wiki-image": ("wiki_crossmodal.npz", ("img_train", "img_test"), ("y_train", "y_test")),
}


def add_data_option(parser: ArgumentParser) -> None:
    """Let a script take the folder of the data."""
    default = os.environ.get("RANKHASH_DATA", str(Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default), help="folder of the .npz files")


def load(folder: Path, name: str) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Vectors, one a row, and their classes if the set has any."""
    file, vectors, labels = FILES[name]
    with np.load(folder / file) as arrays:
        X = np.concatenate([arrays[key].reshape(len(arrays[key]), -1) for key in vectors])
        y = np.concatenate([arrays[key] for key in labels]) if labels else None
    return X, y


def paper_split(X: NDArray[Any], seed: int, n_train: int = 1000, n_queries: int = 3000) -> Split:
    """A random split as the paper has it: see :func:`rankhash.evaluation.split`."""
    return split(Dataset("", X), Protocol(n_train, n_queries), seed)

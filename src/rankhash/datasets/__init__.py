"""Data sets by name or by file: [`load_dataset`][rankhash.datasets.load_dataset].

::

    name ─▶ the file at ``path``, else of a package or in the cache, else downloaded ─▶ Dataset(vectors, labels, …)
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import unknown_name
from ._base import Dataset
from .files import READERS, read_dataset
from .known import KNOWN, load_known
from .views import FILES, ViewDataset, load_view_dataset

__all__ = [
    "DATASETS",
    "VIEW_DATASETS",
    "Dataset",
    "ViewDataset",
    "load_dataset",
    "load_view_dataset",
    "read_dataset",
]

DATASETS: tuple[str, ...] = tuple(KNOWN)
"""The names that [`load_dataset`][rankhash.datasets.load_dataset] knows."""

VIEW_DATASETS: tuple[str, ...] = tuple(FILES)
"""The names that [`load_view_dataset`][rankhash.datasets.load_view_dataset] knows."""


def load_dataset(name: str, path: str | os.PathLike[str] | None = None) -> Dataset:
    """The data set with a name, or in a file.

    Parameters
    ----------
    name
        One of ``digits``, ``mnist``, ``fashion_mnist``, ``cifar10-gist``, ``labelme``, ``peekaboom``; or the path of a
        ``.npy``, ``.npz``, ``.fvecs``, ``.bvecs``, ``.mat``, ``.mtx`` or ``.hdf5`` file (ann-benchmarks' form).
    path
        The file of a known data set, or the folder that holds it, for example as ``labelme.mtx`` or
        under a published name (``LabelMe_gist.mat``, ``Peekaboom_gist.mat``). None (default)
        takes Fashion-MNIST from the Debian package ``dataset-fashion-mnist`` if it is installed, and else
        looks in the cache, ``~/.cache/rankhash`` (or ``XDG_CACHE_HOME``); a file that is missing there is downloaded,
        if it is public, and checked by its SHA-256.

    Raises
    ------
    InvalidInputError
        If the name is unknown, or the file is missing; the message says which file to put where.
    FileFormatError
        If the file is damaged or holds something else.

    Examples
    --------
    >>> digits = load_dataset("digits")
    >>> digits.vectors.shape, digits.image_shape
    ((1797, 64), (8, 8))
    """
    if name in KNOWN:
        return load_known(name, None if path is None else Path(path))
    if Path(name).suffix.lower() in READERS:
        return read_dataset(Path(name))
    raise unknown_name("data set", name, [*KNOWN, f"or a file ({' '.join(READERS)})"])

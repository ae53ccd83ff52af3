"""Data sets of several views, such as pictures and texts: ``load_view_dataset``.

::

    name, path ─▶ a file of tables (I_tr, T_tr, L_tr, …), or a folder of text tables ─▶ ViewDataset(views, labels, …)
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._types import I64, Array
from ..errors import FileFormatError, InvalidInputError, unknown_name
from .files import READERS, Arrays, read_file, read_table

N_QUERIES = 2000
"""Random items that are queries, of a set that is published without a split; at most a fifth of it."""

N_CONCEPTS = 10
"""Most frequent concepts of NUS-WIDE that are labels; items without any of them are left out."""

FILES: dict[str, tuple[str, ...]] = {
    "wiki": ("wiki_crossmodal.npz", "raw_features.mat", "wiki.mat", "wiki.npz"),
    "wiki-tfidf": ("wiki_crossmodal.npz", "wiki-tfidf.mat", "wiki-tfidf.npz"),
    "mirflickr": ("mirflickr25k.mat", "mirflickr.mat", "FLICKR-25K.mat", "mirflickr.npz"),
    "nus-wide": ("nus-wide.mat", "nus_wide.mat", "NUS-WIDE-TC10.mat", "NUS-WIDE-TC21.mat", "nus-wide.npz"),
}
"""Names of files by data set, the first that is there; NUS-WIDE may also be its published folders of text tables."""

IMAGES = ("I", "img", "image", "X")
TEXTS = ("T", "txt", "text", "Y")
LABELS = ("L", "y", "label", "labels")
PARTS = (("_tr", "_te"), ("_train", "_test"))
LISTS = ("trainset_txt_img_cat.list", "testset_txt_img_cat.list")
"""Files in the folder of the Wikipedia set's ``raw_features.mat``: text, picture and class of every item."""


@dataclass(frozen=True, eq=False)
class ViewDataset:
    """Items with a row in every view, and their labels; the first ``n_train`` items are the published training half."""

    name: str
    views: dict[str, Array]
    """Tables ``(n, d)`` by the name of the view"""

    labels: Array
    """Classes ``(n,)`` or label indicators ``(n, n_labels)``"""

    n_train: int
    """0 if no split is published"""

    def split(self, seed: int) -> tuple[I64, I64]:
        """Rows of training items and of queries: the published split, or else random ones."""
        n = len(self.labels)
        rows = np.arange(n) if self.n_train else np.random.default_rng(seed).permutation(n)
        n_train = self.n_train or n - min(N_QUERIES, n // 5)
        return rows[:n_train], rows[n_train:]


def load_view_dataset(name: str, path: str | os.PathLike[str]) -> ViewDataset:
    """The data set of pictures and texts with a name.

    Parameters
    ----------
    name
        ``wiki`` (texts by topics), ``wiki-tfidf``, ``mirflickr`` or ``nus-wide``.
    path
        Its file, or the folder that holds it. A file has one table per view and half: ``I_tr``, ``I_te``, ``T_tr``,
        ``T_te``, ``L_tr``, ``L_te`` (or ``img_train``, …), or whole ones: ``XAll``, ``YAll``, ``LAll``. The classes of
        ``raw_features.mat`` of the Wikipedia set are in the two lists published with it. NUS-WIDE is also read from
        its published folders: features ``Train_Normalized_*.dat``, tags ``Train_Tags1k.dat``, ``Labels_*_Train.txt``.

    Raises
    ------
    InvalidInputError
        If the name is unknown, or the file is missing; the message says which file to put where.
    FileFormatError
        If the file is damaged or holds something else.
    """
    if name not in FILES:
        raise unknown_name("data set of several views", name, [*FILES])
    path = Path(path)
    file = path if path.is_file() else _found(path, FILES[name])
    if file is not None:
        return _of_tables(name, file)
    if name == "nus-wide" and next(path.rglob("*_Tags1k.dat"), None) is not None:
        return _of_folders(path)
    raise InvalidInputError(f"{name} needs one of {', '.join(FILES[name])} in {path}; put it there, or name the file")


def _found(folder: Path, names: tuple[str, ...]) -> Path | None:
    known = {entry.name.lower(): entry for entry in sorted(folder.iterdir())} if folder.is_dir() else {}
    return next((known[name.lower()] for name in names if name.lower() in known), None)


def _of_tables(name: str, file: Path) -> ViewDataset:
    if file.suffix.lower() not in READERS:
        raise InvalidInputError(f"{file} must end in one of {' '.join(READERS)}")
    arrays = read_file(file)
    texts = ("tfidf", *TEXTS) if name == "wiki-tfidf" else TEXTS
    image, n_train = _view(arrays, IMAGES)
    text, n_text = _view(arrays, texts)
    labels, n_labels = _view(arrays, LABELS)
    if labels is None and (file.parent / LISTS[0]).is_file():
        labels, n_labels = _listed_classes(file.parent)
    if image is None or text is None or labels is None:
        raise FileFormatError(
            f"{file} must hold pictures, texts and labels as I_tr, I_te, T_tr, T_te, L_tr, L_te or XAll, YAll, LAll; "
            f"it holds {', '.join(sorted(arrays)) or 'nothing'}"
        )
    if not n_train == n_text == n_labels:
        raise FileFormatError(f"{file} has {n_train} pictures, {n_text} texts and {n_labels} labels to learn from")
    return _checked(str(file), ViewDataset(name, {"image": image, "text": text}, labels, n_train))


def _view(arrays: Arrays, names: tuple[str, ...]) -> tuple[Array | None, int]:
    """A view's rows under the first of the names that occurs, and how many of them are the training half."""
    for name in names:
        for first, second in PARTS:
            parts = [arrays[name + end] for end in (first, second) if name + end in arrays]
            if len(parts) == 2 and parts[0].ndim == parts[1].ndim and parts[0].shape[1:] == parts[1].shape[1:]:
                return np.concatenate(parts), len(parts[0])
        for whole in (f"{name}All", f"{name}_all"):
            if whole in arrays:
                return arrays[whole], 0
    return None, 0


def _listed_classes(folder: Path) -> tuple[Array, int]:
    """The classes of the training and of the test half, from the last column of the lists."""
    halves = []
    for name in LISTS:
        if not (folder / name).is_file():
            raise InvalidInputError(f"raw_features.mat needs {name} beside it, with the classes")
        lines = (folder / name).read_text(encoding="utf-8", errors="replace").split("\n")
        last = [line.split()[-1] for line in lines if line.strip()]
        if not all(value.isdigit() and len(value) < 10 for value in last):
            raise FileFormatError(f"{folder / name} must end every line with the number of a class")
        halves.append(np.array([int(value) for value in last], np.int64))
    return np.concatenate(halves), len(halves[0])


def _of_folders(folder: Path) -> ViewDataset:
    """NUS-WIDE as published: tables of numbers in text files, for the training and the test half."""
    halves = []
    for half in ("Train", "Test"):
        features = sorted(folder.rglob(f"{half}_Normalized_*.dat"))
        tags = sorted(folder.rglob(f"{half}_Tags1k.dat"))
        concepts = sorted(folder.rglob(f"Labels_*_{half}.txt"))
        if not features or not tags or not concepts:
            raise InvalidInputError(
                f"{folder} needs {half}_Normalized_*.dat, {half}_Tags1k.dat and Labels_*_{half}.txt of NUS-WIDE"
            )
        tables = [[read_table(file) for file in files] for files in (features, tags[:1], concepts)]
        sizes = {len(table) for group in tables for table in group}
        if len(sizes) > 1:
            raise FileFormatError(f"the {half} files of NUS-WIDE in {folder} have {sorted(sizes)} rows")
        halves.append([np.concatenate(group, axis=1) for group in tables])
    n_train = len(halves[0][0])
    image, text, labels = (np.concatenate(parts) for parts in zip(*halves, strict=True))
    frequent = np.sort(np.argsort(-labels[:n_train].sum(axis=0), kind="stable")[:N_CONCEPTS])
    kept = np.flatnonzero(labels[:, frequent].any(axis=1))
    views = {"image": image[kept], "text": text[kept]}
    indicators = labels[np.ix_(kept, frequent)] > 0
    return _checked(str(folder), ViewDataset("nus-wide", views, indicators, int((kept < n_train).sum())))


def _checked(source: str, data: ViewDataset) -> ViewDataset:
    """The data set, with classes as a vector, if all of its tables fit together."""
    labels = data.labels.ravel() if data.labels.ndim == 2 and 1 in data.labels.shape else data.labels
    for name, table in {**data.views, "labels": labels}.items():
        if table.dtype.kind not in "fiub" or (table.ndim != 2 and not (name == "labels" and table.ndim == 1)):
            raise FileFormatError(f"{source}: {name} must be a table of numbers, got {table.dtype} {table.shape}")
        if len(table) != len(labels) or not len(table):
            raise FileFormatError(f"{source}: {name} has {len(table)} rows, and there are {len(labels)} labels")
    return ViewDataset(data.name, data.views, labels, data.n_train)

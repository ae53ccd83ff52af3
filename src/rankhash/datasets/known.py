"""Data sets with a name: their files, the expected shapes, and the addresses for downloads."""

from __future__ import annotations

import gzip
import hashlib
import os
import secrets
import urllib.request
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..errors import FileFormatError, InvalidInputError
from ._base import Dataset
from .files import READERS, read_dataset

MNIST = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
FASHION = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
GIST_SOURCES = (
    "https://cs.nyu.edu/~fergus/research/tfw_cvpr08_code.zip, or as a .mtx table at "
    "https://www.eecs.berkeley.edu/~kulis/data/ and in 5_datasets.tar at "
    "https://www.cs.toronto.edu/~norouzi/research/mlh/data/"
)
GIST_ROWS = range(4000, 1_000_000)
"""LabelMe and Peekaboom have 22,019 and 57,637 images as .mat; the tables are not known to have as many. The paper's
protocol takes 4000."""

TIMEOUT = 30.0
MAX_DOWNLOAD = 200 << 20


@dataclass(frozen=True)
class Known:
    """One data set: its files, each with the SHA-256 of the download, and the shape that its vectors must have."""

    n_rows: range
    n_columns: int
    files: dict[str, str] = field(default_factory=dict)
    source: str | None = None
    image_shape: tuple[int, int] | None = None
    published: str | None = None
    """Name, without suffix, and in any case, of the published file besides that of ``files``"""

    origin: str = ""
    """Where a set that is not downloaded is published"""

    installed: str = ""
    """Folder of a Debian package with the same files, compressed anew; empty if there is none"""


def _exactly(n: int) -> range:
    return range(n, n + 1)


KNOWN: dict[str, Known] = {
    "digits": Known(_exactly(1797), 64, image_shape=(8, 8)),
    "mnist": Known(
        _exactly(70_000),
        784,
        {"mnist.npz": "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"},
        MNIST,
        (28, 28),
    ),
    "fashion_mnist": Known(
        _exactly(70_000),
        784,
        {
            "train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        },
        FASHION,
        (28, 28),
        installed="/usr/share/datasets/fashion-mnist",
    ),
    "cifar10-gist": Known(_exactly(60_000), 512, {"cifar10_gist512.npz": ""}),
    "labelme": Known(GIST_ROWS, 512, {"labelme.mat": ""}, published="LabelMe_gist", origin=GIST_SOURCES),
    "peekaboom": Known(
        GIST_ROWS,
        512,
        {"peekaboom.mat": ""},
        published="Peekaboom_gist",
        origin=GIST_SOURCES,
    ),
}


def load_known(name: str, path: Path | None) -> Dataset:
    """The data set with a name; an error if it does not have the expected shape."""
    known = KNOWN[name]
    if name == "digits":
        data = _digits()
    elif name == "fashion_mnist":
        data = _idx(_files(name, known, path))
    else:
        data = read_dataset(_files(name, known, path)[0])
    n, d = data.vectors.shape
    if n not in known.n_rows or d != known.n_columns:
        rows = known.n_rows[0] if len(known.n_rows) == 1 else f"{known.n_rows[0]} to {known.n_rows[-1]}"
        raise FileFormatError(f"{name} must have {rows} vectors of {known.n_columns} numbers, got {n} of {d}")
    return replace(data, name=name, image_shape=known.image_shape, fingerprint="")


def cache_folder() -> Path:
    """The folder for downloads."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankhash"


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Dataset("digits", X.astype(np.float32), y)


def _files(name: str, known: Known, path: Path | None) -> list[Path]:
    """The files of a data set: those of the user or of a package, unchecked, or else those of the cache, checked."""
    if path is not None:
        return _given(name, known, path)
    if known.installed and all(os.path.isfile(os.path.join(known.installed, file)) for file in known.files):
        return _given(name, known, Path(known.installed))
    folder = cache_folder() / name if len(known.files) > 1 else cache_folder()
    return [_cached(name, known, folder, file) for file in known.files]


def _given(name: str, known: Known, path: Path) -> list[Path]:
    if len(known.files) == 1 and not path.is_dir():
        forms = (path, *(path.with_name(path.name + suffix) for suffix in READERS))
        if file := next((form for form in forms if form.is_file()), None):
            return [file]
    places = [path / file for file in known.files]
    if len(places) == 1 and not places[0].is_file():
        places = [_other_form(known, places[0]) or places[0]]
    missing = [place.name for place in places if not place.is_file()]
    if missing:
        published = f" (or {known.published}.mat; published at {known.origin})" if known.published else ""
        raise InvalidInputError(
            f"{name} needs {', '.join(missing)}{published} in {path}; put it there, or name the file itself"
        )
    return places


def _other_form(known: Known, place: Path) -> Path | None:
    """The file of a data set next to ``place``: another form of file, or the published name; None without one.

    Names are compared regardless of case. A file without a suffix is not taken.
    """
    if not place.parent.is_dir():
        return None
    names = {entry.name.lower(): entry for entry in sorted(place.parent.iterdir()) if entry.is_file()}
    stems = [place.stem] + ([known.published] if known.published else [])
    wanted = (f"{stem}{suffix}".lower() for stem in stems for suffix in READERS)
    return next((names[name] for name in wanted if name in names), None)


def _cached(name: str, known: Known, folder: Path, file: str) -> Path:
    """The file in the cache; downloaded if it is missing or damaged, and public."""
    target, expected = folder / file, known.files[file]
    other = None if expected else _other_form(known, target)
    if other is not None:
        return other
    if target.is_file() and expected and _sha256(target) == expected:
        return target
    if known.source is None:
        forms = "" if expected else f" (or .npz, .npy, .mat, .mtx: {known.n_columns} columns)"
        published = f"; it is published as {known.published}.mat at {known.origin}" if known.published else ""
        raise InvalidInputError(
            f"{name} cannot be downloaded; put {file}{forms} into {folder}, or say where it is{published}"
        )
    try:
        _download(known.source + file, target, expected)
    except FileFormatError:
        raise
    except OSError as error:
        damaged = "is damaged there and " if target.is_file() else ""
        raise InvalidInputError(
            f"{file} of {name} {damaged}cannot be downloaded from {known.source} ({error}); "
            f"put the file into {folder} by hand"
        ) from error
    return target


def _download(url: str, target: Path, expected: str) -> None:
    """Download a file to a temporary path, check it, and only then move it into place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}-{secrets.token_hex(6)}.part")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as source, temporary.open("wb") as file:
            taken = 0
            while part := source.read(1 << 20):
                taken += len(part)
                if taken > MAX_DOWNLOAD:
                    raise FileFormatError(f"{url} is longer than {MAX_DOWNLOAD} bytes")
                file.write(part)
        if _sha256(temporary) != expected:
            raise FileFormatError(f"{url} is not the file that is known: its SHA-256 differs; nothing was kept")
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _idx(files: list[Path]) -> Dataset:
    """The images and labels in the four files of MNIST's IDX format."""
    parts = [_read_idx(path) for path in files]
    images, labels = np.concatenate(parts[0::2]), np.concatenate(parts[1::2])
    return Dataset("", images.reshape(len(images), -1), labels)


def _read_idx(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """The array in an IDX file: four bytes with the number of dimensions, four bytes per dimension, the numbers."""
    try:
        with gzip.open(path, "rb") as file:
            data = file.read(MAX_DOWNLOAD)
    except (OSError, EOFError) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from error
    n_dims = data[3] if len(data) > 4 else 0
    shape = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(n_dims)]
    body = np.frombuffer(data, np.uint8, offset=min(len(data), 4 + 4 * n_dims))
    if data[:3] != b"\0\0\x08" or not n_dims or int(np.prod(shape)) != len(body):
        raise FileFormatError(f"{path} is damaged: it does not hold what its head says")
    return body.reshape(shape)

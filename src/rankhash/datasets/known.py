"""The data sets that have a name: which file holds them, what it must hold, and where it can be had."""

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
    ),
    "cifar10-gist": Known(_exactly(60_000), 512, {"cifar10_gist512.npz": ""}),
    "labelme": Known(range(22_000, 23_000), 512, {"labelme.mat": ""}),
    "peekaboom": Known(range(57_000, 58_000), 512, {"peekaboom.mat": ""}),
}


def load_known(name: str, path: Path | None) -> Dataset:
    """The data set of that name, with the shape that it must have."""
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
    """Where downloads are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankhash"


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Dataset("digits", X.astype(np.float32), y)


def _files(name: str, known: Known, path: Path | None) -> list[Path]:
    """The files of a set: those of the user as they are, else those of the cache, checked."""
    if path is not None:
        return _given(name, known, path)
    folder = cache_folder() / name if len(known.files) > 1 else cache_folder()
    return [_cached(name, known, folder, file) for file in known.files]


def _given(name: str, known: Known, path: Path) -> list[Path]:
    if path.is_file() and len(known.files) == 1:
        return [path]
    places = [path / file for file in known.files]
    if len(places) == 1 and not places[0].is_file():
        others = (places[0].with_suffix(suffix) for suffix in READERS)
        places = [next((other for other in others if other.is_file()), places[0])]
    missing = [place.name for place in places if not place.is_file()]
    if missing:
        raise InvalidInputError(f"{name} needs {', '.join(missing)} in {path}; put it there, or name the file itself")
    return places


def _cached(name: str, known: Known, folder: Path, file: str) -> Path:
    """The file in the cache; downloaded if it is missing or damaged and can be."""
    target, expected = folder / file, known.files[file]
    for other in (target.with_suffix(suffix) for suffix in READERS):
        if not expected and other.is_file():
            return other
    if target.is_file() and expected and _sha256(target) == expected:
        return target
    if known.source is None:
        forms = "" if expected else f" (or .npz, .npy, .mat, .mtx: {known.n_columns} columns)"
        raise InvalidInputError(f"{name} cannot be downloaded; put {file}{forms} into {folder}, or say where it is")
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
    """Fetch a file beside its place, check it, and only then put it there."""
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
    """The images and labels of the four files of MNIST's own format."""
    parts = [_read_idx(path) for path in files]
    images, labels = np.concatenate(parts[0::2]), np.concatenate(parts[1::2])
    return Dataset("", images.reshape(len(images), -1), labels)


def _read_idx(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """One file: four bytes that tell the number of dimensions, each of them in four bytes, then the numbers."""
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

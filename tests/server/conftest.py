from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from rankhash import SRSH, Collection
from rankhash.server import Settings

from .serving import TOKEN, serving

N = 600


def encode_text(texts):
    """A text encoder: every text is its first digit."""
    X, y = load_digits(return_X_y=True)
    return np.array([X[np.flatnonzero(y == int(text[0]))[0]] for text in texts])


@pytest.fixture(scope="session")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:N].astype(np.float32), y[:N]


@pytest.fixture(scope="session")
def hasher(digits):
    return SRSH(n_symbols=16, arity=4, random_state=0).fit(*digits)


@pytest.fixture(scope="session")
def make(digits, hasher):
    """A function that makes a collection of digits."""

    def made(path, **options):
        X, y = digits
        collection = Collection.create(path, hasher, **options)
        collection.add(X, metadata=[{"digit": int(label), "image": f"{i}.png"} for i, label in enumerate(y)])
        return collection

    return made


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "0.png").write_bytes(b"\x89PNG\r\n\x1a\n zero")
    (folder / "1.svg").write_bytes(b"<svg/>")
    (folder.parent / "outside.png").write_bytes(b"secret")
    (folder / "2.png").symlink_to(folder.parent / "outside.png")
    return folder


@pytest.fixture(scope="session")
def collection(make, tmp_path_factory):
    with make(tmp_path_factory.mktemp("served") / "digits.rankhash", store_vectors="float32") as made:
        yield made


@pytest.fixture(scope="session")
def client(collection, pictures):
    """A client of a server that nobody changes."""
    with serving({"digits": collection}, Settings(images=str(pictures), text_encoder=encode_text)) as client:
        yield client


@pytest.fixture
def writer(make, tmp_path):
    """A client that may change its own collection."""
    with (
        make(tmp_path / "digits.rankhash") as collection,
        serving({"digits": collection}, Settings(writable=True, token=TOKEN)) as client,
    ):
        client.collection = collection
        yield client

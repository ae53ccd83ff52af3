"""A server with digits, wines, a hostile and an empty collection, and a browser that looks at it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine

from rankhash import ITQ, LSH, SRSH, Collection
from rankhash.datasets import load_dataset
from rankhash.evaluation.images import data_url
from rankhash.server import Settings

from ..serving import serving


def digits():
    """1797 handwritten digits as codes of 32 symbols of arity 4, with images, labels and vectors."""
    data = load_dataset("digits")
    hasher = SRSH(n_symbols=32, arity=4, random_state=0).fit(data.vectors)
    made = Collection.create(":memory:", hasher, store_vectors="float16")
    images = [data_url(vector.reshape(8, 8)) for vector in data.vectors]
    labels = zip(data.labels, images, strict=True)
    made.add(data.vectors, metadata=[{"label": int(label), "image": image} for label, image in labels])
    return made


def wines():
    """178 wines as codes of 26 bits, without vectors and images."""
    data = load_wine()
    scaled = ((data.data - data.data.mean(0)) / data.data.std(0)).astype(np.float32)
    made = Collection.create(":memory:", ITQ(n_symbols=26, random_state=0).fit(scaled))
    names = [name.replace("/", "_") for name in data.feature_names]
    rows = [dict(zip(names, map(float, row), strict=True)) for row in data.data]
    fields = [{"cultivar": f"cultivar {kind + 1}", **row} for row, kind in zip(rows, data.target, strict=True)]
    made.add(scaled, ids=[f"wine-{place + 1}" for place in range(len(scaled))], metadata=fields)
    return made


@pytest.fixture(scope="session")
def collections():
    from .helpers import HOSTILE

    made = {"digits": digits(), "wines": wines()}
    vectors = np.random.default_rng(0).normal(size=(len(HOSTILE), 12)).astype(np.float32)
    hasher = LSH(n_symbols=600, random_state=0).fit(vectors)
    made["hostile"] = Collection.create(":memory:", hasher)
    made["hostile"].add(vectors, ids=list(HOSTILE), metadata=list(HOSTILE.values()))
    made["empty"] = Collection.create(":memory:", hasher)
    yield made
    for collection in made.values():
        collection.close()


@pytest.fixture(scope="session")
def address(collections):
    with serving(collections, Settings()) as client:
        yield f"http://127.0.0.1:{client.port}/"


@pytest.fixture
def shown(visit, address):
    """Opens the page with a query and waits for the answer."""
    from .helpers import ready

    def show(query="", width=1280, height=800, expected=(), **options):
        opened = visit(address + query, width, height, expected, **options)
        ready(opened.page)
        return opened

    return show

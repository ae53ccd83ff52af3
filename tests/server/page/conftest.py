"""A server with the demo's collections, a hostile and an empty one, and a browser that looks at it."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import LSH, Collection
from rankhash.cli import _demo_collections
from rankhash.server import Settings

from ..serving import serving


@pytest.fixture(scope="session")
def collections():
    from .helpers import HOSTILE

    made = _demo_collections.make()
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

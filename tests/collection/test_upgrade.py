"""Files of version 1: read as they are, rewritten by their first change, while others have them open."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from rankhash import Collection

GOLDEN = Path(__file__).parent.parent / "golden" / "collection-1.rankhash"


@pytest.fixture
def old(tmp_path):
    return shutil.copy(GOLDEN, tmp_path / "x.rankhash")


def version(path):
    with sqlite3.connect(path) as connection:
        found = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return found


def everything(collection):
    items = collection.get(collection.ids())
    queries = np.array([item.vector for item in items])
    found = collection.search(queries, 4, rerank=20)
    plain = [(item.id, item.metadata, item.code.tolist(), item.vector.tolist()) for item in items]
    return plain, found.ids.tolist(), found.distances.tolist(), collection.count("tag = 'even'")


def test_reading_leaves_the_file_as_it_is(old):
    before = Path(old).read_bytes()
    with Collection.open(old) as collection:
        everything(collection)
        assert collection.metric == "euclidean"
    assert Path(old).read_bytes() == before


def test_the_first_change_rewrites_it_and_every_handle_goes_on(old):
    with Collection.open(old) as reader, Collection.open(old, "rw") as writer:
        before = everything(reader)
        assert version(old) == 1
        writer.delete(writer.add(np.ones((1, reader.n_features))))
        assert version(old) == 2
        assert everything(reader) == everything(writer) == before
        assert reader.check().problems == writer.check().problems == ()
    with Collection.open(old) as again:
        assert everything(again) == before


def test_a_change_that_fails_leaves_version_1(old):
    with Collection.open(old, "rw") as writer:
        before = everything(writer)
        with pytest.raises(ValueError, match="already"):
            writer.add(np.ones((1, writer.n_features)), [100])
        assert version(old) == 1
        assert everything(writer) == before

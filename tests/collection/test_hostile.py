"""Damaged and foreign files: every error is ours, damage is reported and never served."""

from __future__ import annotations

import shutil
import sqlite3
import tracemalloc

import numpy as np
import pytest

from rankhash import Collection, FileFormatError, RankhashError
from rankhash.collection import check_file


@pytest.fixture
def filled(path, hasher, vectors):
    with Collection.create(path, hasher, store_vectors="float16") as collection:
        collection.add(vectors, [f"n{i}" for i in range(300)], [{"n": i} for i in range(300)])
        collection.add(vectors[:50])
        collection.delete(["n3", 301])
    return path


def change(path, *statements):
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(statement)
    connection.close()


def flip(blob, at, bit=3):
    data = bytearray(blob)
    data[at] ^= 1 << bit
    return bytes(data)


def everything(path, vectors):
    """Whatever can be asked of a collection."""
    with Collection.open(path) as collection:
        names = collection.ids()
        return (
            collection.search(vectors[:5], 3).ids.tolist(),
            collection.search(vectors[:5], 3, where="n < 100", rerank=20).ids.tolist(),
            [(item.id, item.metadata, item.vector.tolist()) for item in collection.get(names)],
        )


DAMAGE = {
    "codes": "UPDATE chunks SET codes = flip(codes, 30) WHERE last = (SELECT min(last) FROM chunks)",
    "chunk checksum": "UPDATE chunks SET checksum = flip(checksum, 3)",
    "chunk bounds": "UPDATE chunks SET first = first + 1 WHERE first > 0",
    "chunk lost": "DELETE FROM chunks WHERE first > 0",
    "removed": "UPDATE removed SET bitmap = flip(bitmap, 9)",
    "removed lost": "DELETE FROM removed",
    "id": "UPDATE items SET id = 'x7' WHERE number = 7",
    "metadata": "UPDATE items SET metadata = '{\"n\": 8}' WHERE number = 7",
    "metadata is no JSON": "UPDATE items SET metadata = '{' WHERE number = 7",
    "a row lost": "DELETE FROM items WHERE number = 7",
    "an item lost": "UPDATE state SET n_items = n_items + 1",
    "vector": "UPDATE vector_chunks SET vectors = flip(vectors, 5) WHERE first = 0",
    "named": "UPDATE chunks SET named = NULL",
    "vector lost": "DELETE FROM vector_chunks WHERE first = 0",
    "hasher": "UPDATE settings SET value = flip(value, 3000) WHERE name = 'hasher'",
    "store_vectors": "UPDATE settings SET value = 'float8' WHERE name = 'store_vectors'",
    "a setting lost": "DELETE FROM settings WHERE name = 'hasher'",
    "state": "UPDATE state SET generation = -1",
    "state lost": "DELETE FROM state",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_reported_and_never_served(what, filled, vectors):
    good = everything(filled, vectors)
    connection = sqlite3.connect(filled, isolation_level=None)
    connection.create_function("flip", 2, flip)
    assert connection.execute(DAMAGE[what]).rowcount
    connection.close()
    report = check_file(filled)
    assert report.problems
    with pytest.raises(FileFormatError, match=r"damaged|rankhash"):
        assert everything(filled, vectors) == good


def test_an_incomplete_index_of_a_field_is_reported(filled):
    with Collection.open(filled, "rw") as collection:
        collection.index_field("n")
        assert collection.check().problems == ()
    change(filled, "DELETE FROM facets WHERE number = 7")
    assert check_file(filled).problems == ("the index of the field n is not complete; drop it and make it again",)


def test_a_healthy_file_has_no_problems(filled):
    report = check_file(filled)
    assert (report.n_items, report.problems) == (348, ())


def test_flipped_bits_anywhere_never_give_a_wrong_answer(filled, vectors, tmp_path):
    """A flipped bit is an error of ours, or it does not matter for the answer."""
    good = everything(filled, vectors)
    data = filled.read_bytes()
    rng = np.random.default_rng(0)
    noticed = 0
    for place in rng.integers(0, 8 * len(data), 250):
        copy = tmp_path / "copy.rankhash"
        copy.write_bytes(flip(data, place // 8, place % 8))
        try:
            assert everything(copy, vectors) == good
        except RankhashError:
            noticed += 1
        for suffix in ("-wal", "-shm"):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    assert noticed > 50


def test_files_that_are_cut_off_are_an_error(filled, vectors, tmp_path):
    data = filled.read_bytes()
    for cut in np.linspace(0, len(data) - 1, 30).astype(int):
        copy = tmp_path / "copy.rankhash"
        copy.write_bytes(data[:cut])
        with pytest.raises(FileFormatError):
            everything(copy, vectors)
        assert check_file(copy).problems


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("PRAGMA user_version = 3", "format 3, but this rankhash reads formats 1 to 2; upgrade rankhash"),
        ("PRAGMA user_version = 1", "its tables are not those"),
        ("PRAGMA user_version = 0", "never released"),
        ("PRAGMA application_id = 7", "is not a rankhash collection"),
        ("CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM chunks; END", "its tables are not those"),
        ("CREATE VIEW v AS SELECT 1", "its tables are not those"),
        ("ALTER TABLE items ADD COLUMN more TEXT", "its tables are not those"),
        ("DROP TABLE facets", "its tables are not those"),
    ],
)
def test_foreign_and_newer_files_are_refused_with_the_reason(filled, statement, message):
    change(filled, statement)
    for mode in ("r", "rw"):
        with pytest.raises(FileFormatError, match=message):
            Collection.open(filled, mode)
    assert message in check_file(filled).problems[0]


def test_sizes_in_a_hostile_file_take_no_memory(filled, vectors, tmp_path):
    for statement in (
        "UPDATE chunks SET n = 1 << 40",
        "UPDATE chunks SET last = 1 << 60 WHERE first > 0",
        "UPDATE state SET n_items = 1 << 60",
        "UPDATE removed SET page = 1 << 48",
    ):
        copy = tmp_path / "copy.rankhash"
        shutil.copy(filled, copy)
        change(copy, statement)
        tracemalloc.start()
        with pytest.raises(FileFormatError):
            everything(copy, vectors)
        assert check_file(copy).problems
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 50 << 20


def test_an_empty_sqlite_file_is_no_collection(tmp_path):
    change(tmp_path / "x.db", "CREATE TABLE t (a)")
    with pytest.raises(FileFormatError, match="is not a rankhash collection"):
        Collection.open(tmp_path / "x.db")

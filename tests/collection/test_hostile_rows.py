"""Rows that lie, with checksums that are right: every error is one of this package, also in a check."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3

import pytest

from rankhash import Collection, RankhashError
from rankhash.collection import _chunks, _items, _removed, check_file

EXTREMES = (-(2**63), -1, 0, 2**31, 2**53, 2**62, 2**63 - 1)


@pytest.fixture(scope="module")
def filled(tmp_path_factory, hasher, vectors):
    path = tmp_path_factory.mktemp("hostile") / "items.rankhash"
    with Collection.create(path, hasher, store_vectors="float16") as collection:
        collection.add(vectors, [f"n{i}" for i in range(300)], [{"n": i} for i in range(300)])
        collection.add(vectors[:50])
        collection.delete(["n3", 301])
        collection.index_field("n")
    return path


@pytest.fixture
def copy(filled, tmp_path):
    return shutil.copy(filled, tmp_path / "copy.rankhash")


def change(path, statement, *values):
    """Change rows, then give every row the checksum that belongs to it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    try:
        assert connection.execute(statement, values).rowcount
    except sqlite3.IntegrityError:
        pytest.skip("SQLite itself refuses this row")
    for table, rows in (("chunks", "codes"), ("vector_chunks", "vectors")):
        columns = f"rowid, last, first, n, numbers, named, {rows}"
        for row in connection.execute(f"SELECT {columns} FROM {table}").fetchall():
            checksum = _chunks._checksum(*row[1:])
            connection.execute(f"UPDATE {table} SET checksum = ? WHERE rowid = ?", (checksum, row[0]))
    for page, bitmap in connection.execute("SELECT page, bitmap FROM removed").fetchall():
        connection.execute("UPDATE removed SET checksum = ? WHERE page = ?", (_removed._checksum(page, bitmap), page))
    for number, name, text in connection.execute("SELECT number, id, metadata FROM items").fetchall():
        if type(name) in (int, str):
            checksum = _items._checksum(number, name, text)  # of text that is not UTF-8 there is no right one
            connection.execute("UPDATE items SET checksum = ? WHERE number = ?", (checksum, number))
    connection.close()


def use(path, vectors, folder):
    """Read, export and change whatever can be; each call may raise errors of this package only."""
    try:
        collection = Collection.open(path, "rw")
    except RankhashError:
        return
    with collection:
        for call in (
            lambda: collection.search(vectors[:5], 3),
            lambda: collection.search(vectors[:5], 3, where="n < 100 or not exists n", rerank=20),
            lambda: collection.get(collection.ids()),
            lambda: collection.search_ids(collection.ids()[:5], 2),
            lambda: collection.get(["n7", 310]),
            lambda: collection.stats(),
            lambda: collection.export_file(folder / "items.jsonl"),
            lambda: collection.export_file(folder / "items.npy"),
            lambda: collection.export_file(folder / "items.parquet"),
            lambda: collection.add(vectors[:2]),
            lambda: collection.add(vectors[:2], ["p", "q"], [{"n": 1}, None]),
            lambda: collection.delete(["n9"]),
            lambda: collection.delete(where="n = 11"),
            lambda: collection.index_field("n", drop=True),
            lambda: collection.index_field("n"),
            lambda: collection.compact(),
            lambda: collection.check(),
        ):
            with contextlib.suppress(RankhashError):
                call()


KEYS = {"state": "one", "chunks": "last", "vector_chunks": "last", "removed": "page", "fields": "field"}
COLUMNS = [
    *(("state", column) for column in ("generation", "epoch", "next_number", "next_id", "n_items", "n_rows")),
    ("state", "encoding"),
    *((table, column) for table in ("chunks", "vector_chunks") for column in ("last", "first", "n")),
    *(("removed", column) for column in ("page", "generation")),
    ("items", "number"),
    ("items", "id"),
    ("facets", "number"),
    ("facets", "kind"),
    ("fields", "field"),
]


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=str)
@pytest.mark.parametrize("value", EXTREMES)
def test_extreme_numbers_are_an_error_of_this_package(copy, vectors, tmp_path, table, column, value):
    key = KEYS.get(table, "number")
    change(copy, f"UPDATE {table} SET {column} = ? WHERE {key} = (SELECT max({key}) FROM {table})", value)
    check_file(copy)
    use(copy, vectors, tmp_path)
    check_file(copy)


METADATA = {
    "a surrogate": '{"n": "\\ud800"}',
    "infinity": '{"n": 1e999}',
    "many digits": '{"n": ' + "9" * 5000 + "}",
    "many digits before a point": '{"n": ' + "9" * 400 + ".5}",
    "NaN": '{"n": NaN}',
    "deep": '{"n": ' + "[" * 900 + "]" * 900 + "}",
    "very deep": '{"n": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "a list": "[1, 2]",
    "a key twice": '{"n": 1, "n": 2}',
    "NUL": '{"n": "\\u0000"}',
    "nothing": "",
}


@pytest.mark.parametrize("text", METADATA.values(), ids=METADATA)
def test_strange_metadata_are_an_error_of_this_package(copy, vectors, tmp_path, text):
    change(copy, "UPDATE items SET metadata = ? WHERE number = 7", text)
    check_file(copy)
    use(copy, vectors, tmp_path)


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("UPDATE items SET metadata = CAST(? AS TEXT) WHERE number = 7", b'{"n": "\xff\xfe"}'),
        ("UPDATE items SET id = CAST(? AS TEXT) WHERE number = 7", b"\xff\xfe"),
        ("UPDATE items SET id = ? WHERE number = 7", "x" * 100_000),
        ("UPDATE items SET id = ? WHERE number = 7", "a\0b"),
        ("UPDATE items SET id = ? WHERE number = 7", 2.5),
        ("UPDATE items SET id = ? WHERE number = 7", b"\0\1"),
        ("UPDATE chunks SET numbers = ? WHERE last = (SELECT max(last) FROM chunks)", b"\xff" * 400),
        ("UPDATE chunks SET numbers = ? WHERE last = (SELECT max(last) FROM chunks)", b"\x01\x02\x03"),
        ("UPDATE chunks SET numbers = ? WHERE last = (SELECT max(last) FROM chunks)", b""),
        ("UPDATE chunks SET named = ? WHERE last = (SELECT max(last) FROM chunks)", b""),
        ("UPDATE chunks SET codes = ? WHERE last = (SELECT max(last) FROM chunks)", b""),
        ("UPDATE removed SET bitmap = ?", b"\xff"),
        ("UPDATE removed SET bitmap = ?", b"\xff" * 2048),
        ("UPDATE vector_chunks SET vectors = ?", b"\xff" * 12 * 300),
        ("UPDATE vector_chunks SET vectors = ?", b""),
        ("UPDATE settings SET value = ? WHERE name = 'metric'", "l7"),
        ("UPDATE settings SET value = ? WHERE name = 'recall'", 7.5),
        ("UPDATE fields SET path = ?", "$[" * 1000),
        ("UPDATE fields SET path = ?", "no path"),
        ("UPDATE facets SET value = ? WHERE number = 7", "x"),
        ("UPDATE settings SET value = ? WHERE name = 'identity'", "\0"),
    ],
    ids=range(21),
)
def test_strange_values_are_an_error_of_this_package(copy, vectors, tmp_path, statement, value):
    change(copy, statement, value)
    check_file(copy)
    use(copy, vectors, tmp_path)

"""Ids and metadata in files of their own."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pytest

from rankhash import Collection, InvalidInputError
from rankhash.readers import open_vectors
from rankhash.readers.sidecars import read_ids, read_metadata, with_sidecars

X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    (tmp_path / "ids.txt").write_text("apple\n17\n007\nü b\n-3\n", encoding="utf-8")
    (tmp_path / "m.csv").write_text('name,price,tag\na,1,"x,y"\nb,2.5,\nc,,z\nd,1e999,w\ne,5,TRUE\n', encoding="utf-8")
    rows = [{"name": f"n{i}", "deep": {"i": i}} for i in range(5)]
    (tmp_path / "m.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return tmp_path


def test_ids_and_rows_are_read(folder):
    assert list(read_ids("ids.txt")) == ["apple", 17, "007", "ü b", -3]
    assert list(read_metadata("m.csv")) == [
        {"name": "a", "price": 1, "tag": "x,y"},
        {"name": "b", "price": 2.5},
        {"name": "c", "tag": "z"},
        {"name": "d", "price": "1e999", "tag": "w"},
        {"name": "e", "price": 5, "tag": True},
    ]


def test_a_collection_gets_them(folder):
    with Collection.create("c.rankhash", metric="euclidean") as items:
        assert items.import_file("x.npy", ids_file="ids.txt", metadata_file="m.csv") == 5
        assert items.ids() == ["apple", 17, "007", "ü b", -3]
        assert items["007"].metadata == {"name": "c", "tag": "z"}
        items.import_file("x.npy", metadata_file="m.jsonl", id_column="name")
        assert items["n3"].metadata == {"deep": {"i": 3}}
        np.testing.assert_array_equal(items["n3"].vector, X[3])


@pytest.fixture
def parquet(folder):
    """``m.parquet`` with columns as tables have them, and a function that writes other columns."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def write(columns, names=None):
        table = pyarrow.table(columns) if names is None else pyarrow.table(columns, names=names)
        parquet.write_table(table, "m.parquet", row_group_size=2)

    write(
        {
            "name": ["a", "b", "c", "d", "e"],
            "price": [1.5, None, float("nan"), 4.0, 5.0],
            "sold": [datetime.date(2024, 1, day) for day in range(1, 6)],
            "tags": [["x"], [], None, ["y", "z"], ["x"]],
            "thumb": [b"\xff"] * 5,
        }
    )
    return write


def test_metadata_come_from_a_parquet_file(parquet):
    with Collection.create("c.rankhash", metric="euclidean") as items:
        assert items.import_file("x.npy", metadata_file="m.parquet", id_column="name") == 5
        assert items["a"].metadata == {"price": 1.5, "sold": "2024-01-01", "tags": ["x"]}
        assert items["b"].metadata == {"sold": "2024-01-02", "tags": []}
        assert items["c"].metadata == {"price": None, "sold": "2024-01-03"}
        assert items.search(X[3], 5, where="sold > 2024-01-02 and 'x' in tags").ids.tolist() == [["e", *[None] * 4]]
        np.testing.assert_array_equal(items["d"].vector, X[3])


def test_ids_of_a_parquet_file_are_as_its_column_says(parquet):
    parquet({"key": np.arange(5, dtype=np.uint8), "n": ["7"] * 5})
    with Collection.create("c.rankhash", metric="euclidean") as items:
        items.import_file("x.npy", metadata_file="m.parquet", id_column="key")
        items.import_file("x.npy", ids_file="ids.txt", metadata_file="m.parquet")
        assert items.ids() == [0, 1, 2, 3, 4, "apple", 17, "007", "ü b", -3]
        assert items[2].metadata == {"n": "7"}
        assert items[17].metadata == {"key": 1, "n": "7"}


@pytest.mark.parametrize(
    ("columns", "names", "message"),
    [
        ({"a": [1, 2]}, None, "m.parquet has fewer rows"),
        ({"a": [1] * 6}, None, "m.parquet has more rows"),
        ({"a": [1] * 5}, None, "m.parquet has no column 'name'; it has a"),
        ({"name": [1.5] * 5}, None, "m.parquet needs an id, an integer or text, in the column 'name', got 1.5"),
        ({"name": [None, "b", "c", "d", "e"], "x": [1] * 5}, None, "m.parquet has a row without 'name'"),
        ([[1] * 5, [2] * 5], ["a", "a"], "m.parquet has columns of the same name"),
    ],
)
def test_wrong_parquet_files_change_nothing(parquet, columns, names, message):
    parquet(columns, names)
    options = {"id_column": "name"} if "rows" not in message else {}
    with Collection.create("c.rankhash", metric="euclidean") as items:
        with pytest.raises(InvalidInputError, match=message):
            items.import_file("x.npy", metadata_file="m.parquet", **options)
        assert len(items) == 0


def test_blocks_take_their_part(folder):
    parts = [list(read_ids("ids.txt"))[i : i + 2] for i in (0, 2, 4)]

    class Two:
        def __iter__(self):
            return open_vectors("x.npy").blocks(2)

    assert [block.ids for block in with_sidecars(Two(), "ids.txt")] == parts


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a\nb\n", {"ids_file": "f.txt"}, "fewer rows"),
        ("a\nb\nc\nd\ne\nf\n", {"ids_file": "f.txt"}, "more rows"),
        ("a\n\nc\nd\ne\n", {"ids_file": "f.txt"}, "no id in line 2"),
        ("a\na\nc\nd\ne\n", {"ids_file": "f.txt"}, "more than once"),
        ("x,x\n1,2\n", {"metadata_file": "f.csv"}, "each once"),
        ("x,y\n1\n", {"metadata_file": "f.csv"}, "1 cells in line 2"),
        ('x\n"1\n', {"metadata_file": "f.csv"}, "not readable CSV"),
        ("{}\n[1]\n", {"metadata_file": "f.jsonl"}, "no object in line 2"),
        ("{\n", {"metadata_file": "f.jsonl"}, "not JSON in line 1"),
        ("x\n1\n2\n3\n4\n5\n", {"metadata_file": "f.csv", "id_column": "y"}, "no column 'y'; it has x"),
        ("x\n1\n", {"metadata_file": "f.tsv"}, ".csv, a .jsonl or a .parquet"),
        ("x\n1\n", {"metadata_file": "f.parquet"}, "f.parquet is not a readable Parquet file"),
        ("x\n", {"id_column": "x"}, "needs an id, an integer or text, in the column 'x'"),
    ],
)
def test_mistakes_change_nothing(folder, content, options, message):
    for name in options.values():
        if "." in name:
            (folder / name).write_text(content, encoding="utf-8")
    with Collection.create("c.rankhash", metric="euclidean") as items:
        with pytest.raises(ValueError, match=message):
            items.import_file("x.npy", **options)
        assert len(items) == 0


def test_ids_have_one_source(folder):
    with (
        Collection.create("c.rankhash") as items,
        pytest.raises(InvalidInputError, match="not from both"),
    ):
        items.import_file("x.npy", ids_file="ids.txt", metadata_file="m.csv", id_column="name")


def test_a_row_without_its_id_lists_what_it_has(folder):
    with pytest.raises(InvalidInputError, match=r"^m.jsonl has a row without 'nam', .* it has name, deep$"):
        list(with_sidecars(open_vectors("x.npy"), metadata="m.jsonl", id_column="nam"))


def test_bytes_that_are_no_text(folder):
    (folder / "f.txt").write_bytes(b"\xff\xfe\n" * 5)
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        list(read_ids("f.txt"))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_a_column_of_the_file_itself_holds_the_ids(tmp_path, suffix):
    rows = [("red", "a", 1.0, 2.0), ("blue", "b", 3.0, 4.0)]
    path = tmp_path / f"items.{suffix}"
    if suffix == "csv":
        path.write_text("colour,name,x,y\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    elif suffix == "jsonl":
        items = ({"vector": [x, y], "metadata": {"colour": colour, "name": name}} for colour, name, x, y in rows)
        path.write_text("".join(json.dumps(item) + "\n" for item in items))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        columns = zip(*rows, strict=True)
        table = dict(zip(("colour", "name", "x", "y"), map(list, columns), strict=True))
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(table), path)
    with Collection.create(":memory:", metric="euclidean") as items:
        named = [] if suffix == "jsonl" else ["colour"]
        assert items.import_file(path, metadata=named, id_column="name") == 2
        assert items["b"].metadata == {"colour": "blue"}
        assert items["b"].vector.tolist() == [3.0, 4.0]


def test_ids_of_a_column_are_integers_or_text_as_they_are_written(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("word,flag\ntrue,true\n1.5,False\n7,x\nFALSE,1.5\n", encoding="utf-8")
    rows = list(read_metadata(str(path), "word"))
    assert [row["word"] for row in rows] == ["true", "1.5", 7, "FALSE"]
    assert [row["flag"] for row in rows] == [True, False, "x", 1.5]

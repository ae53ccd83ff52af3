"""Data as people have them: tables of metadata, ids of any integer type, single queries, empty batches."""

from __future__ import annotations

import datetime
import uuid

import numpy as np
import pytest

from rankhash import Collection, IdError, InvalidInputError

ZONE = datetime.timezone(datetime.timedelta(hours=2))
NAME = uuid.UUID(int=7)
PLAIN = [{"a": 1, "b": "x", "c": None}, {"a": 2, "b": "y", "c": 2.5}, {"a": 3, "b": None, "c": 0.5}]
COLUMNS = {"a": np.array([1, 2, 3], np.uint8), "b": ["x", "y", None], "c": [float("nan"), 2.5, np.float32(0.5)]}


@pytest.fixture(params=[True, False], ids=["hasher", "no hasher"])
def collection(request, hasher):
    with Collection.create(None, hasher if request.param else None) as made:
        yield made


def tables():
    import pandas
    import pyarrow

    frame = pandas.DataFrame(COLUMNS)
    return [COLUMNS, frame, pyarrow.table({"a": [1, 2, 3], "b": ["x", "y", None], "c": [None, 2.5, 0.5]}), PLAIN]


@pytest.mark.parametrize("table", tables(), ids=["columns", "pandas", "arrow", "dicts"])
def test_metadata_may_be_a_table(collection, vectors, table):
    collection.add(vectors[:3], list("pqr"), table)
    assert [item.metadata for item in collection.get(list("pqr"))] == PLAIN


VALUES = [
    (np.int16(3), 3),
    (np.float32(0.5), 0.5),
    (np.bool_(True), True),
    (np.str_("x"), "x"),
    (float("nan"), None),
    (np.nan, None),
    (np.array([1, 2]), [1, 2]),
    ([np.int8(1), {"x": np.float64("nan")}], [1, {"x": None}]),
    (datetime.date(2024, 5, 1), "2024-05-01"),
    (datetime.datetime(2024, 5, 1, 10, 30), "2024-05-01T10:30:00"),
    (datetime.datetime(2024, 5, 1, 10, 30, tzinfo=ZONE), "2024-05-01T08:30:00+00:00"),
    (np.datetime64("2024-05-01T10:30"), "2024-05-01T10:30"),
    (np.datetime64("NaT"), None),
    (NAME, str(NAME)),
]


@pytest.mark.parametrize(("given", "kept"), VALUES, ids=[str(given) for given, _ in VALUES])
def test_values_become_those_of_json(collection, vectors, given, kept):
    collection.add(vectors[:1], ["p"], [{"v": given, "w": 1}])
    assert collection["p"].metadata == {"v": kept, "w": 1}


def test_pandas_timestamps_and_missing_values(collection, vectors):
    import pandas

    table = pandas.DataFrame({"t": pandas.to_datetime(["2024-05-01", None]), "i": pandas.array([1, None], "Int64")})
    collection.add(vectors[:2], metadata=table)
    assert [item.metadata for item in collection.get([0, 1])] == [
        {"t": "2024-05-01T00:00:00", "i": 1},
        {"t": None, "i": None},
    ]
    assert collection.count("t >= '2024' and t < '2025'") == 1


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"a": [1, 2]}, "one row for each of 3 vectors, but 'a' has 2"),
        ({"a": 7}, "must hold columns, but 'a' is 7"),
        ([{"a": float("inf")}, None, None], "row 0 is not"),
        ([{"a": object()}, None, None], "row 0 is not"),
        ([{"a": {1: 2}}, None, None], "text as keys"),
    ],
)
def test_bad_metadata_are_refused(collection, vectors, metadata, message):
    with pytest.raises(InvalidInputError, match=message):
        collection.add(vectors[:3], metadata=metadata)
    assert len(collection) == 0


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.array([5, 6], np.uint16), [5, 6]),
        (np.array([5.0, 6.0]), [5, 6]),
        ([np.int8(5), 6.0], [5, 6]),
        ([NAME, "6"], [str(NAME), "6"]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array(["a", 6], object), ["a", 6]),
    ],
    ids=str,
)
def test_ids_of_any_integer_type(collection, vectors, given, kept):
    assert collection.add(vectors[:2], given) == kept
    assert collection.ids() == kept
    assert [type(name) for name in collection.ids()] == [type(name) for name in kept]


def test_ids_that_are_not_whole_are_refused(collection, vectors):
    for wrong in (np.array([1.5, 2]), [float("nan"), 1], [True, 2], np.array([True, False])):
        with pytest.raises(IdError, match="integers or strings"):
            collection.add(vectors[:2], wrong)


def test_one_query_may_be_one_vector(collection, vectors):
    collection.add(vectors)
    for query in (vectors[3], vectors[3].tolist()):
        found = collection.search(query, 4)
        assert found.ids.tolist() == collection.search(vectors[3:4], 4).ids.tolist()
        assert found.ids.shape == (1, 4)
    assert len(collection.search_radius(vectors[3], 0).offsets) == 2


@pytest.mark.parametrize("empty", [[], np.empty((0, 6)), np.empty(0)], ids=["list", "rows", "array"])
def test_empty_batches_go_in_and_out(collection, vectors, empty):
    for _ in range(2):
        assert collection.add(empty) == []
        assert collection.add(empty, [], []) == []
        collection.upsert(empty, [])
        collection.update_metadata([], [])
        assert collection.search(empty, 3).ids.shape == (0, 3)
        assert collection.search_ids([], 3).ids.shape == (0, 3)
        assert collection.search_radius(empty, 3).offsets.tolist() == [0]
        assert collection.delete([]) == 0
        collection.add(vectors[:5])
    assert len(collection) == 10


def test_it_is_a_container_of_ids(collection, vectors):
    collection.add(vectors[:3], ["p", 7, "q"], PLAIN)
    assert [*collection] == ["p", 7, "q"]
    assert collection.known(["q", 7, "p", "p", 3]) == ["q", 7, "p", "p"]
    assert "p" in collection
    assert np.int64(7) in collection
    assert 7.0 in collection
    assert not {"7", 3, None, (1, 2), 2.5} & {*collection}
    assert all(name not in collection for name in ("7", 3, None, (1, 2), 2.5))
    assert collection[7].metadata == PLAIN[1]
    with pytest.raises(IdError, match="'z' is not in"):
        collection["z"]
    with collection.snapshot() as now:
        assert "p" in now
        assert now["p"].metadata == PLAIN[0]


def test_to_pandas_has_one_row_per_item(collection, vectors):
    assert len(collection.to_pandas()) == 0
    collection.add(vectors[:3], ["p", "r", "q"], [{"a": 1}, None, {"a": 3, "b": "x"}])
    table = collection.to_pandas()
    assert table.index.tolist() == ["p", "r", "q"]
    assert table["a"].dropna().tolist() == [1, 3]
    assert collection.to_pandas(where="a > 1").index.tolist() == ["q"]
    if collection.store_vectors:
        np.testing.assert_array_equal(np.stack(collection.to_pandas(vectors=True)["vector"]), vectors[:3])


def test_metadata_change_without_the_vector(collection, vectors):
    collection.index_field("a")
    collection.add(vectors[:4], metadata=[{"a": 1, "b": 2}, None, {"a": 5}, {"a": 7}])
    collection.update_metadata([0, 1], {"a": [9, 9], "c": [None, "x"]})
    collection.update_metadata([2], [{"b": 1}], replace=True)
    assert [item.metadata for item in collection.get([0, 1, 2, 3])] == [
        {"a": 9, "b": 2, "c": None},
        {"a": 9, "c": "x"},
        {"b": 1},
        {"a": 7},
    ]
    assert collection.ids() == [3, 0, 1, 2]
    assert collection.search(vectors[:4], 1).ids[:, 0].tolist() == [0, 1, 2, 3]
    assert collection.count("a = 9") == 2
    with pytest.raises(IdError, match="77 is not in"):
        collection.update_metadata([0, 77], [{"a": 0}] * 2)
    assert collection.count("a = 9") == 2
    assert collection.check().problems == ()

"""Items out to files and in again."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from rankhash import LSH, Collection, IdError, InvalidInputError, LayoutMismatchError, StorageError

NAMES = {"text": [f"n{i}" for i in range(300)], "integers": None}


@pytest.fixture(params=["none", "float16", "float32"])
def filled(request, path, hasher, vectors):
    store = None if request.param == "none" else request.param
    with Collection.create(path, hasher, store_vectors=store) as collection:
        collection.add(vectors, NAMES["text"], [{"n": i, "ç": [i, None]} if i % 4 else None for i in range(300)])
        collection.delete(["n3", "n200"])
        collection.upsert(vectors[:1], ["n7"], [{"new": True}])
        yield collection


def contents(collection):
    return [
        (item.id, item.metadata, item.code.tolist(), None if item.vector is None else item.vector.tolist())
        for item in collection.get(collection.ids())
    ]


@pytest.mark.parametrize("name", ["x.parquet", "x.jsonl"])
def test_what_was_exported_can_be_imported(name, tmp_path, filled, hasher):
    told = []
    assert filled.export_file(tmp_path / name, progress=told.append) == 298
    assert told[-1] == 298
    with Collection.create(tmp_path / "copy", hasher, store_vectors=filled.store_vectors) as copy:
        assert copy.import_file(tmp_path / name, progress=told.append) == 298
        assert contents(copy) == contents(filled)
        assert copy.check().problems == ()
        with pytest.raises(IdError, match="already in the collection"):
            copy.import_file(tmp_path / name)
        assert copy.import_file(tmp_path / name, replace=True) == 298
        assert contents(copy) == contents(filled)
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.endswith(".tmp")) == []


def test_codes_are_exported_in_the_order_of_adding(tmp_path, filled):
    assert filled.export_file(tmp_path / "x.npy") == 298
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), [item[2] for item in contents(filled)])


def test_integer_ids_stay_integers(tmp_path, collection, hasher, vectors):
    collection.add(vectors[:10])
    collection.add(vectors[10:12], [100, 50], [{"a": 1}, None])
    for name in ("x.parquet", "x.jsonl"):
        collection.export_file(tmp_path / name)
        with Collection.create(tmp_path / f"{name}.copy", hasher) as copy:
            copy.import_file(tmp_path / name)
            assert copy.ids() == [*range(10), 100, 50]


def test_ids_of_both_kinds_need_json_lines(tmp_path, collection, hasher, vectors):
    collection.add(vectors[:2])
    collection.add(vectors[2:3], ["a"])
    with pytest.raises(InvalidInputError, match=r"use \.jsonl"):
        collection.export_file(tmp_path / "x.parquet")
    assert not (tmp_path / "x.parquet").exists()
    collection.export_file(tmp_path / "x.jsonl")
    with Collection.create(tmp_path / "copy", hasher) as copy:
        copy.import_file(tmp_path / "x.jsonl")
        assert copy.ids() == [0, 1, "a"]


@pytest.mark.parametrize("name", ["x.parquet", "x.jsonl"])
def test_codes_of_another_hasher_are_refused(name, tmp_path, collection, vectors):
    collection.add(vectors)
    collection.export_file(tmp_path / name)
    other = LSH(24, random_state=1).fit(vectors)
    for store, error in ((None, LayoutMismatchError), ("float16", LayoutMismatchError)):
        with Collection.create(tmp_path / f"other-{store}", other, store_vectors=store) as target:
            with pytest.raises(error, match="another hasher"):
                target.import_file(tmp_path / name)
            assert len(target) == 0


def test_vectors_may_go_to_another_hasher(tmp_path, path, hasher, vectors):
    with Collection.create(path, hasher, store_vectors="float32") as collection:
        collection.add(vectors, metadata=[{"n": i} for i in range(300)])
        collection.export_file(tmp_path / "x.parquet")
    with Collection.create(tmp_path / "other", LSH(24, random_state=1).fit(vectors)) as target:
        target.import_file(tmp_path / "x.parquet")
        np.testing.assert_array_equal(target.get([5])[0].code, target.hasher.encode(vectors[5:6])[0])
        assert target.count("n < 5") == 5
    columns = pq.read_table(tmp_path / "x.parquet").to_pydict()
    assert json.loads(columns["metadata"][3]) == {"n": 3}
    np.testing.assert_array_equal(columns["vector"][3], vectors[3])


def test_a_bad_block_undoes_the_whole_import(tmp_path, collection, vectors):
    rows = np.tile(vectors, (400, 1))
    rows[-1, 2] = np.nan
    np.save(tmp_path / "x.npy", rows)
    collection.add(vectors[:3])
    with pytest.raises(InvalidInputError, match="NaN"):
        collection.import_file(tmp_path / "x.npy")
    assert len(collection) == 3
    assert collection.check().problems == ()


def test_wrong_targets_are_refused(tmp_path, collection, vectors):
    collection.add(vectors)
    with pytest.raises(InvalidInputError, match=r"\.parquet, \.jsonl, \.npy"):
        collection.export_file(tmp_path / "x.xlsx")
    with pytest.raises(StorageError, match="cannot be written"):
        collection.export_file(tmp_path / "no" / "x.npy")
    for content in ('{"id": 1, "code": "zz"}', '{"id": 1, "code": 5}', '{"code": []}', '["code"]'):
        (tmp_path / "x.jsonl").write_text(content)
        with pytest.raises(InvalidInputError):
            collection.import_file(tmp_path / "x.jsonl")
    assert len(collection) == 300

"""Codes in Parquet files, and DuckDB that searches them exactly by the documented query."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from rankhash import LSH, CodeLayout, Collection, FlatIndex, InvalidInputError, StorageError, _parquet

GUIDE = Path(__file__).parents[1] / "docs" / "guide" / "parquet.md"
LAYOUTS = [CodeLayout(70, 2), *(CodeLayout(40, arity) for arity in range(3, 17)), CodeLayout(1, 5), CodeLayout(300, 16)]


def clustered(rng, layout, n):
    centres = rng.integers(0, layout.arity, (4, layout.n_symbols))
    symbols = centres[rng.integers(0, 4, n)]
    noise = rng.random(symbols.shape) < 0.3
    return layout.pack(np.where(noise, rng.integers(0, layout.arity, symbols.shape), symbols))


def documented_search(path, layout, code, k):
    """The guide's own function."""
    block = next(b for b in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL) if "def nearest" in b)
    names = {}
    exec(block[block.index("def nearest") :].split("\n\n")[0], names)
    return duckdb.sql(names["nearest"](path, layout, code, k)).fetchnumpy()


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_duckdb_answers_as_a_flat_index_does(layout, rng, tmp_path):
    index, path = FlatIndex(layout), tmp_path / "codes.parquet"
    index.add(clustered(rng, layout, 600), rng.permutation(2000)[:600])
    assert index.export_file(path, words=True) == 600
    for code in clustered(rng, layout, 3):
        expected = index.search(code[None], 50)
        found = documented_search(path, layout, code[None], 50)
        np.testing.assert_array_equal(found["id"], expected.ids[0])
        np.testing.assert_array_equal(found["distance"], expected.distances[0])


def test_collections_export_words_as_further_columns(rng, tmp_path):
    X = rng.normal(size=(300, 8))
    hasher = LSH(70, random_state=0).fit(X)
    path = tmp_path / "codes.parquet"
    with Collection.create(":memory:", hasher) as items:
        items.add(X, [f"n{i}" for i in range(300)], [{"year": 2000 + i} for i in range(300)])
        items.export_file(path, words=True)
        expected = items.search(X[:1], 10)
        found = documented_search(path, hasher.layout_, hasher.encode(X[:1]), 300)
        np.testing.assert_array_equal(found["distance"][:10], expected.distances[0])
        with pytest.raises(InvalidInputError, match=r"words go into \.parquet files only"):
            items.export_file(tmp_path / "x.jsonl", words=True)
    table = pq.read_table(path)
    assert table.column_names == ["id", "metadata", "code", "w0", "w1"]
    some = duckdb.sql(f"SELECT id FROM '{path}' WHERE (metadata ->> 'year')::INTEGER > 2297 ORDER BY id").fetchall()
    assert some == [("n298",), ("n299",)]
    facts = json.loads(table.schema.metadata[b"rankhash.layout"])
    layout = hasher.layout_
    assert facts == {"n_symbols": 70, "arity": 2, "fingerprint": layout.fingerprint, "scale": 1}


@pytest.mark.parametrize("words", [False, True])
def test_a_collection_imports_what_an_index_exported(words, rng, tmp_path):
    X = rng.normal(size=(300, 8))
    hasher = LSH(24, random_state=0).fit(X)
    index, path = FlatIndex(hasher.layout_), tmp_path / "codes.parquet"
    index.add(hasher.encode(X), np.arange(300)[::-1])
    index.export_file(path, words=words)
    with Collection.create(":memory:", hasher) as items:
        assert items.import_file(path) == 300
        found = items.search(X[:5], 7)
    np.testing.assert_array_equal(found.ids.astype(int), index.search(hasher.encode(X[:5]), 7).ids)


def test_groups_are_large_but_bounded(rng, tmp_path, monkeypatch):
    layout = CodeLayout(8, 2)
    index = FlatIndex(layout)
    index.add(clustered(rng, layout, 5000))
    monkeypatch.setattr(_parquet, "GROUP_ROWS", 2000)
    monkeypatch.setattr("rankhash.index._base.GROUP_ROWS", 500)
    index.export_file(tmp_path / "x.parquet", words=True)
    with pq.ParquetFile(tmp_path / "x.parquet") as file:
        assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [2000, 2000, 1000]
    monkeypatch.setattr(_parquet, "GROUP_BYTES", 5_000)
    index.export_file(tmp_path / "x.parquet")
    with pq.ParquetFile(tmp_path / "x.parquet") as file:
        assert file.num_row_groups == 10


def test_an_empty_index_is_exported(tmp_path):
    assert FlatIndex(CodeLayout(8, 3)).export_file(tmp_path / "x.parquet", words=True) == 0
    assert pq.read_table(tmp_path / "x.parquet").num_rows == 0


def test_files_that_cannot_be_written_leave_nothing(tmp_path):
    index = FlatIndex(CodeLayout(8, 3))
    with pytest.raises(InvalidInputError, match=r"must end with \.parquet"):
        index.export_file(tmp_path / "x.csv")
    with pytest.raises(StorageError, match="cannot be written"):
        index.export_file(tmp_path / "no" / "x.parquet")
    assert [*tmp_path.iterdir()] == []

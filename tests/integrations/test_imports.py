"""Folders, points of Qdrant and tables of pgvector become collections: whole, or not at all."""

from __future__ import annotations

import json
import uuid

import numpy as np
import pytest

from rankhash import Collection, InvalidInputError, TakenIdError
from rankhash.integrations.folder import from_folder
from rankhash.integrations.qdrant import from_qdrant

VECTORS = np.random.default_rng(5).normal(size=(3000, 4)).astype(np.float32)


@pytest.fixture
def parquet():
    return pytest.importorskip("pyarrow.parquet", reason="needs pyarrow of the extra data")


def write_parquet(parquet, path, rows):
    import pyarrow

    path.parent.mkdir(exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)


# -- folders -------------------------------------------------------------------------------------------------------


def test_files_of_a_folder_are_read_in_the_order_of_their_names(tmp_path):
    np.save(tmp_path / "b.npy", VECTORS[1000:])
    np.save(tmp_path / "a.npy", VECTORS[:1000])
    (tmp_path / "README.md").write_text("nothing to read")
    with from_folder(tmp_path, tmp_path / "all.rankhash", metric="euclidean") as collection:
        assert collection.metric == "euclidean"
        found = collection.search(VECTORS[::500], 1)
    assert found.ids[:, 0].tolist() == [*range(0, 3000, 500)]
    with Collection.open(tmp_path / "all.rankhash") as again:
        assert len(again) == 3000


def test_rows_of_a_second_folder_are_metadata(tmp_path, parquet):
    (tmp_path / "vectors").mkdir()
    for part in range(3):
        np.save(tmp_path / "vectors" / f"img_emb_{part}.npy", VECTORS[part * 1000 : part * 1000 + 1000])
        rows = [{"caption": f"text {part * 1000 + i}", "width": i} for i in range(1000)]
        write_parquet(parquet, tmp_path / "meta" / f"metadata_{part}.parquet", rows)
    collection = from_folder(tmp_path / "vectors", metadata=tmp_path / "meta")
    assert [item.metadata["caption"] for item in collection.get([0, 999, 1000, 2999])] == [
        "text 0",
        "text 999",
        "text 1000",
        "text 2999",
    ]
    assert collection.count("width < 10") == 30
    write_parquet(parquet, tmp_path / "meta" / "metadata_2.parquet", rows[:-1])
    with pytest.raises(InvalidInputError, match="fewer rows"):
        from_folder(tmp_path / "vectors", metadata=tmp_path / "meta")
    write_parquet(parquet, tmp_path / "meta" / "metadata_2.parquet", [*rows, rows[0]])
    with pytest.raises(InvalidInputError, match="more rows"):
        from_folder(tmp_path / "vectors", tmp_path / "half.rankhash", metadata=tmp_path / "meta")
    assert not [*tmp_path.glob("half*")]
    (tmp_path / "meta" / "metadata_2.parquet").unlink()
    with pytest.raises(InvalidInputError, match="3 files of vectors"):
        from_folder(tmp_path / "vectors", metadata=tmp_path / "meta")


def test_a_folder_without_vectors_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="holds no file"):
        from_folder(tmp_path)


# -- Qdrant --------------------------------------------------------------------------------------------------------


def written(path, points):
    path.write_text("\n".join(json.dumps(point) for point in points) + "\n\n")
    return path


def test_points_become_items(tmp_path):
    points = [{"id": i, "vector": row.tolist(), "payload": {"place": i}} for i, row in enumerate(VECTORS)]
    points += [
        {"id": "text", "vector": [9, 9, 9, 9]},
        {"id": str(uuid.UUID(int=1)), "vector": [1, 2, 3, 4], "payload": None},
    ]
    collection = from_qdrant(written(tmp_path / "points.jsonl", points), metric="dot")
    assert len(collection) == 3002
    assert collection.search(np.ones(4), 1).ids[0, 0] == "text"
    assert collection.ids(where="place in (7, 2999)") == [7, 2999]


def test_one_of_several_named_vectors_is_taken(tmp_path):
    points = [{"id": i, "vector": {"image": [1, i], "text": [i, 1, 2]}} for i in range(3)]
    path = written(tmp_path / "points.jsonl", points)
    assert from_qdrant(path, vector="text").n_features == 3
    with pytest.raises(InvalidInputError, match=r"line 1 of .* has the vectors image, text; choose one"):
        from_qdrant(path)
    with pytest.raises(InvalidInputError, match="needs an array"):
        from_qdrant(path, vector="sound")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("[1, 2]", 'needs an "id"'),
        ('{"id": 1.5, "vector": [1]}', 'needs an "id"'),
        ('{"id": 9, "vector": ["a"]}', "needs an array"),
        ('{"id": 9, "vector": []}', "needs an array"),
        ('{"id": 9, "vector": [1, 2], "payload": 3}', "not an object"),
        ('{"id": 9, "vector": [1, 2, 3]}', "one dimension"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_bad_points_leave_nothing_behind(tmp_path, line, message):
    path = tmp_path / "points.jsonl"
    path.write_text('{"id": 1, "vector": [1, 2]}\n' + line + "\n")
    with pytest.raises(InvalidInputError, match=message):
        from_qdrant(path, tmp_path / "points.rankhash")
    assert not [*tmp_path.glob("*.rankhash*")]


def test_an_id_given_twice_leaves_nothing_behind(tmp_path):
    points = [{"id": i % 2000, "vector": [1, i]} for i in range(3000)]
    with pytest.raises(TakenIdError):
        from_qdrant(written(tmp_path / "points.jsonl", points), tmp_path / "points.rankhash")
    assert not [*tmp_path.glob("*.rankhash*")]


# -- pgvector ------------------------------------------------------------------------------------------------------


@pytest.fixture
def table(postgres):
    """A table of 3000 vectors, one of them missing, with columns of many types."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute('DROP TABLE IF EXISTS "my items"')
        connection.execute(
            """CREATE TABLE "my items" (id bigint PRIMARY KEY, "the ""vector" vector(4), day date, price numeric(6, 2),
            tags text[], extra jsonb, ref uuid)"""
        )
        with connection.cursor().copy('COPY "my items" FROM STDIN') as copy:
            for i, row in enumerate(VECTORS):
                vector = None if i == 17 else str(row.tolist())
                copy.write_row((i, vector, "2024-05-01", i / 4, ["a", "b"], json.dumps({"n": i}), uuid.UUID(int=i)))
    return {"server": postgres, "table": "my items", "vector_column": 'the "vector'}


def test_rows_of_a_table_become_items(table, tmp_path):
    from rankhash.integrations.pgvector import from_pgvector

    with from_pgvector(path=tmp_path / "items.rankhash", **table) as collection:
        assert len(collection) == 2999
        assert collection.search(VECTORS[::300], 1).ids[:, 0].tolist() == [*range(0, 3000, 300)]
        item = collection.get([2500])[0]
    np.testing.assert_allclose(item.vector, VECTORS[2500], rtol=1e-5)
    assert item.metadata == {
        "day": "2024-05-01",
        "price": 625.0,
        "tags": ["a", "b"],
        "extra": {"n": 2500},
        "ref": str(uuid.UUID(int=2500)),
    }


def test_text_ids_and_open_connections(table):
    import psycopg

    from rankhash.integrations.pgvector import from_pgvector

    with psycopg.connect(table["server"]) as connection:
        collection = from_pgvector(**(table | {"server": connection}), id_column="ref", metric="euclidean")
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert collection.ids(limit=1) == [str(uuid.UUID(int=0))]
    assert collection.get([str(uuid.UUID(int=5))])[0].metadata["id"] == 5


def test_unreadable_sources_get_a_sentence(table, tmp_path):
    from rankhash.integrations.pgvector import from_pgvector

    with pytest.raises(InvalidInputError, match=r"no table public\.nothing"):
        from_pgvector(table["server"], "nothing", tmp_path / "items.rankhash")
    with pytest.raises(InvalidInputError, match="no column 'embedding'"):
        from_pgvector(table["server"], table["table"])
    with pytest.raises(InvalidInputError, match="cannot cast"):
        from_pgvector(table["server"], table["table"], vector_column="day")
    assert not [*tmp_path.glob("*.rankhash*")]

"""Several databases that answer as one."""

from __future__ import annotations

import numpy as np
import psycopg
import pytest

from rankhash import EngineError, TakenIdError, UnknownIdError
from rankhash.engines.postgres import ApproximateNeighbors, PostgresIndex, PostgresShards

from .codes import LAYOUTS, assert_same, clustered, flat

LAYOUT = LAYOUTS[2]


@pytest.fixture(scope="module")
def servers(postgres):
    names = ["shard0", "shard1", "shard2"]
    with psycopg.connect(postgres, autocommit=True) as connection:
        for name in names:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    return [psycopg.conninfo.make_conninfo(postgres, dbname=name) for name in names]


@pytest.fixture
def shards(servers, table):
    columns = {"year": "integer"}
    with PostgresShards(
        [PostgresIndex.create_table(server, table, LAYOUT, columns=columns) for server in servers]
    ) as shards:
        yield shards


def test_shards_answer_as_one_index(shards, rng):
    codes, queries, ids = clustered(rng, LAYOUT, 500), clustered(rng, LAYOUT, 6), rng.permutation(900)[:500]
    shards.add(codes, ids, columns={"year": np.arange(500)})
    expected = flat(codes, ids=ids)
    assert [len(shard) for shard in shards.shards] == [int((ids % 3 == place).sum()) for place in range(3)]
    for k in (1, 40, 600):
        assert_same(shards.search(queries, k), expected.search(queries, k))
    assert_same(shards.search_radius(queries, 8), expected.search_radius(queries, 8))
    some = shards.search(queries, 9, where="year < %s", params=[100])
    assert_same(some, expected.search(queries, 9, filter=ids[:100]))
    np.testing.assert_array_equal(shards.get(ids[::-1]), codes[::-1])
    shards.upsert(codes[:10], ids[10:20])
    np.testing.assert_array_equal(shards.get(ids[10:20]), codes[:10])
    assert shards.delete(ids[:7]) == 7
    assert shards.delete(where="year >= %s", params=[490]) == 10
    assert len(shards) == 483


def test_approximate_answers_of_shards_are_labelled(servers, shards, table, rng):
    codes = clustered(rng, LAYOUT, 300)
    shards.add(codes, np.arange(300))
    for shard in shards.shards:
        with pytest.raises(EngineError, match="no pgvector"):
            shard.create_hnsw()
    with pytest.raises(EngineError, match="table 1 of 3: approximate search needs pgvector"):
        shards.search_approximate(codes[:3], 5)
    for shard in shards.shards:
        shard._connection.execute("CREATE EXTENSION vector")
    with PostgresShards([PostgresIndex.open(server, table) for server in servers]) as again:
        for shard in again.shards:
            shard.create_hnsw()
        found = again.search_approximate(codes[:3], 5)
    assert isinstance(found, ApproximateNeighbors)
    assert (found.distances[:, 0] == 0).all()


def test_a_change_that_one_shard_refuses_is_kept_nowhere(shards, rng):
    codes = clustered(rng, LAYOUT, 30)
    shards.add(codes, np.arange(30))
    with pytest.raises(TakenIdError):
        shards.add(codes[:4], [2, 30, 31, 33])
    with pytest.raises(UnknownIdError):
        shards.delete([0, 1, 99])
    assert len(shards) == 30


def test_a_lost_shard_is_an_error_and_never_a_part_of_the_answer(shards, connection, rng):
    codes = clustered(rng, LAYOUT, 30)
    shards.add(codes, np.arange(30))
    pid = shards.shards[1]._connection.info.backend_pid
    connection.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
    with pytest.raises(EngineError, match="table 2 of 3: PostgreSQL cannot be reached"):
        shards.search(codes, 3)
    with pytest.raises(EngineError):
        shards.add(codes, np.arange(30, 60))
    assert [len(shards.shards[place]) for place in (0, 2)] == [10, 10]

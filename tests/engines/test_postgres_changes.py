"""Codes into PostgreSQL and out again: columns, transactions, layouts, lost connections."""

from __future__ import annotations

import uuid
from contextlib import suppress
from datetime import date, datetime, timezone
from decimal import Decimal

import numpy as np
import psycopg
import pytest
from psycopg import sql

from rankhash import CodeLayout, EngineError, IdError, InvalidInputError, TakenIdError, UnknownIdError
from rankhash.engines.postgres import PostgresIndex

from .codes import LAYOUTS, assert_same, clustered, filled, flat

LAYOUT = LAYOUTS[2]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_codes_come_back_as_they_went_in(connection, table, rng, layout, weighted):
    weights = 1 + rng.integers(0, 3, layout.n_symbols) if weighted else None
    codes, ids = clustered(rng, layout, 40), rng.permutation(100)[:40]
    index = filled(connection, table, codes, layout, ids, weights=weights)
    np.testing.assert_array_equal(index.get(ids[[3, 3, 7]]), codes[[3, 3, 7]])
    read_ids, read_codes = map(np.concatenate, zip(*index.read(), strict=True))
    np.testing.assert_array_equal(read_ids, np.sort(ids))
    np.testing.assert_array_equal(read_codes, codes[np.argsort(ids)])


@pytest.mark.parametrize("n", [0, 1, 16_383, 16_384, 16_385, 40_000])
def test_any_number_of_rows_is_copied_and_read(connection, table, n):
    layout = CodeLayout(3, 3)
    codes = layout.pack(np.arange(3 * n).reshape(n, 3) % 3)
    told = []
    index = PostgresIndex.create_table(connection, table, layout)
    np.testing.assert_array_equal(index.add(codes, progress=told.append), np.arange(n))
    assert told[-1:] == ([n] if n else [])
    assert len(index) == n
    read = [*index.read()]
    assert sum(len(ids) for ids, _ in read) == n
    assert all((codes[ids] == some).all() for ids, some in read)


def test_columns_have_types_and_are_asked_in_sql(connection, table, rng):
    values = {
        "a": ("bigint", [2**40, None, -1], "= 1099511627776"),
        "b": ("boolean", [True, False, None], ""),
        "c": ("bytea", [b"\0x", None, b""], r"= '\x0078'"),
        "d": ("date", [date(2024, 2, 29), None, date(1, 1, 1)], "= '2024-02-29'"),
        "e": ("double precision", np.array([0.5, 1, 2]), "= 0.5"),
        "f": ("integer", np.array([7, 8, 9], np.int64), "= 7"),
        "g": ("jsonb", [{"x": [1, "%s"]}, None, 3], "@> '{\"x\": [1]}'"),
        "h": ("numeric", [Decimal("0.10"), None, Decimal(3)], "= 0.1"),
        "i": ("real", [1.5, None, 2.5], "= 1.5"),
        "j": ("smallint", [1, 2, 3], "= 1"),
        "k": ("text", ["ä'\"; --%s", None, ""], "LIKE 'ä%%'"),
        "l": ("timestamptz", [datetime(2024, 1, 1, tzinfo=timezone.utc), None, None], "= '2024-01-01 00:00 UTC'"),
        "m": ("uuid", [uuid.UUID(int=1), None, None], "= '00000000-0000-0000-0000-000000000001'"),
    }
    index = PostgresIndex.create_table(connection, table, LAYOUT, columns={name: v[0] for name, v in values.items()})
    codes = clustered(rng, LAYOUT, 3)
    index.add(codes, columns={name: v[1] for name, v in values.items()})
    for name, (_, _, test) in values.items():
        assert index.search(codes[:1], 3, where=f"{name} {test}").ids.tolist() == [[0, -1, -1]], name
    row = connection.execute(sql.SQL("SELECT g, k, h FROM {} WHERE id = 0").format(sql.Identifier(table))).fetchone()
    assert row == ({"x": [1, "%s"]}, "ä'\"; --%s", Decimal("0.10"))
    types = {name: v[0].replace("timestamptz", "timestamp with time zone") for name, v in values.items()}
    assert PostgresIndex.open(connection, table).columns == types


def test_conditions_take_values_or_composed_sql(connection, table, rng):
    codes, queries = clustered(rng, LAYOUT, 300), clustered(rng, LAYOUT, 4)
    index = PostgresIndex.create_table(connection, table, LAYOUT, columns={"year": "integer", "odd name": "text"})
    index.add(codes, columns={"year": np.arange(300) % 7, "odd name": ["a%"] * 150 + ["b"] * 150})
    expected = flat(codes)
    few = expected.search(queries, 9, filter=np.flatnonzero(np.arange(300) % 7 > 4))
    assert_same(index.search(queries, 9, where="year > %s", params=[4]), few)
    assert_same(index.search(queries, 9, where=sql.SQL("year > {}").format(4)), few)
    assert_same(index.search(queries, 9, where="year > %s -- as of late", params=[4]), few)
    assert_same(
        index.search_radius(queries, 9, where=sql.SQL("{} = {}").format(sql.Identifier("odd name"), "b")),
        expected.search_radius(queries, 9, filter=range(150, 300)),
    )
    assert_same(
        index.search(queries, 9, where="id = ANY(%s)", params=[[5, 6, 7]]),
        expected.search(queries, 9, filter=[5, 6, 7]),
    )
    assert index.count('"odd name" = %s', ["a%"]) == 150
    assert index.delete(where="year = %s OR year = %s", params=[1, 2]) == 86
    assert len(index) == 214


def test_upsert_replaces_and_adds(connection, table, rng):
    codes = clustered(rng, LAYOUT, 60)
    index = PostgresIndex.create_table(connection, table, LAYOUT, columns={"year": "integer", "note": "text"})
    index.add(codes[:40], columns={"year": range(40), "note": ["old"] * 40})
    index.upsert(codes[20:60][::-1], np.arange(20, 60), columns={"year": range(100, 140)})
    index.upsert(codes[:1], [3])
    np.testing.assert_array_equal(index.get(range(20, 60)), codes[20:60][::-1])
    np.testing.assert_array_equal(index.get([3]), codes[:1])
    assert len(index) == 60
    assert index.count("year >= 100") == 40
    assert index.count("note = 'old'") == 40


def test_delete_by_ids_is_all_or_nothing(connection, table, rng):
    index = filled(connection, table, clustered(rng, LAYOUT, 10))
    with pytest.raises(UnknownIdError, match="1 of these ids are not in the table"):
        index.delete([1, 2, 99])
    assert len(index) == 10
    assert index.delete([1, 2]) == 2
    with pytest.raises(UnknownIdError, match="id 2 is not in the table"):
        index.get([3, 2])
    with pytest.raises(InvalidInputError, match="either ids or where"):
        index.delete()


def test_transactions_keep_all_or_nothing(postgres, connection, table, rng):
    codes = clustered(rng, LAYOUT, 10)
    index = filled(connection, table, codes)
    other = PostgresIndex.open(postgres, table)
    with suppress(ZeroDivisionError), index.transaction():
        index.add(codes)
        index.delete([0])
        assert (len(index), len(other)) == (19, 10)
        raise ZeroDivisionError
    assert len(index) == len(other) == 10
    with index.transaction():
        index.add(codes)
        with pytest.raises(IdError), index.transaction():
            index.add(codes, np.arange(5, 15))
        index.upsert(codes[:2], [100, 101])
        index.upsert(codes[:2], [101, 102])
    assert len(other) == 23
    other.close()


def test_a_connection_that_commits_by_hand_is_left_as_it_was(postgres, table, rng):
    codes = clustered(rng, LAYOUT, 10)
    with psycopg.connect(postgres) as connection:
        index = filled(connection, table, codes)
        index.search(codes, 2)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        index.add(codes)
        connection.execute("SELECT 1")
        index.add(codes)
        connection.rollback()
        assert len(index) == 20


def test_ids_are_unique_and_follow_the_largest(connection, table, rng):
    codes = clustered(rng, LAYOUT, 5)
    index = filled(connection, table, codes, ids=[3, 1, 4, 15, 9])
    with pytest.raises(TakenIdError, match="already in the table; upsert replaces"):
        index.add(codes[:2], [16, 15])
    assert index.add(codes[:2]).tolist() == [16, 17]
    for ids in ([1, 1], [-1, 0], [0.5, 1], [1], [2**63 - 1, 0]):
        with pytest.raises(IdError):
            index.add(codes[:2], ids)


def test_a_table_without_a_key_gets_one_later(connection, table, rng):
    codes = clustered(rng, LAYOUT, 5)
    index = filled(connection, table, codes, primary_key=False)
    index.add(codes, range(5))
    with pytest.raises(InvalidInputError, match="PostgreSQL refuses"):
        index.upsert(codes, range(5))
    with pytest.raises(IdError):
        index.create_key()
    connection.execute(sql.SQL("TRUNCATE {}").format(sql.Identifier(table)))
    index.add(codes)
    index.create_key()
    index.upsert(codes, range(5))
    assert len(index) == 5


def test_a_connection_lost_while_copying_leaves_nothing(postgres, connection, table):
    codes = np.zeros((200_000, LAYOUT.n_bytes), np.uint8)
    index = PostgresIndex.create_table(postgres, table, LAYOUT)
    index.add(codes[:3])
    backend = index._connection.info.backend_pid

    def kill(sent):
        if sent > 50_000:
            connection.execute("SELECT pg_terminate_backend(%s, 10000)", [backend])

    with pytest.raises(EngineError, match="nothing of a change under way was kept"):
        index.add(codes, progress=kill)
    with pytest.raises(EngineError, match="opened again"):
        index.search(codes[:1], 1)
    index.close()
    with PostgresIndex.open(postgres, table) as again:
        assert len(again) == 3
        assert again.add(codes[:1]).tolist() == [3]


def test_an_interrupted_copy_leaves_nothing_and_the_connection_whole(connection, table):
    index = PostgresIndex.create_table(connection, table, LAYOUT)

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.add(np.zeros((20_000, LAYOUT.n_bytes), np.uint8), progress=stop)
    assert len(index) == 0

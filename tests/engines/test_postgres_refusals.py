"""What PostgresIndex refuses: foreign tables, servers that lack something, names and conditions that mean harm."""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from pathlib import Path

import numpy as np
import psycopg
import pytest
from psycopg import sql

import rankhash
from rankhash import CodeLayout, EngineError, InvalidInputError, LayoutMismatchError
from rankhash.engines.postgres import PostgresIndex, PostgresShards

from .codes import LAYOUTS, assert_same, clustered, filled, flat

LAYOUT = LAYOUTS[2]

HOSTILE = [
    'x"; DROP TABLE victim; --',
    "x'; DROP TABLE victim; --",
    "x(id) FROM STDIN; DROP TABLE victim; --",
    "{}",
    "a.b",
    'quote"d',
    "ünïcödé 表",
    "SELECT",
]


@pytest.fixture
def victim(connection):
    connection.execute("CREATE TABLE IF NOT EXISTS victim (id int)")
    yield
    assert connection.execute("SELECT count(*) FROM victim").fetchone() == (0,)
    connection.execute("DROP TABLE victim")


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_names_whatever_they_hold(connection, victim, rng, name):
    codes = clustered(rng, LAYOUT, 20)
    connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    index = PostgresIndex.create_table(
        connection, name, LAYOUT, schema=name, columns={name: "text"}, partitions=2, pgvector=True
    )
    index.add(codes, columns={name: ["a"] * 20})
    index.upsert(codes, range(20), columns={name: ["b"] * 20})
    again = PostgresIndex.open(connection, name, LAYOUT, schema=name)
    assert_same(again.search(codes, 5), flat(codes).search(codes, 5))
    assert again.columns == {name: "text"}
    assert again.count(sql.SQL("{} = 'b'").format(sql.Identifier(name))) == 20
    assert sum(len(ids) for ids, _ in again.read()) == 20
    again.create_hnsw()
    again.search_approximate(codes, 5)
    assert again.delete(range(20)) == 20


@pytest.mark.parametrize("name", ["", "x" * 64, "a\0b", "%s", None, 7])
def test_names_that_the_server_would_change_are_refused(connection, name):
    with pytest.raises(InvalidInputError, match="1 to 63 bytes, no NUL and here no %"):
        PostgresIndex.create_table(connection, name, LAYOUT)
    with pytest.raises(InvalidInputError, match="1 to 63 bytes"):
        PostgresIndex.create_table(connection, "fine", LAYOUT, columns={name: "text"})


def test_a_hasher_of_any_name_is_kept(connection, table):
    layout = CodeLayout(4, 4, "'; DROP TABLE victim; -- \\ %s ä")
    PostgresIndex.create_table(connection, table, layout)
    assert PostgresIndex.open(connection, table).layout == layout


@pytest.mark.parametrize(
    ("where", "params"),
    [
        ("TRUE); DROP TABLE victim; --", []),
        ("FALSE\n); DROP TABLE victim; --", []),
        ("id > %s", []),
        ("id > %s", [1, 2]),
        ("id > %%s", [1]),
        ("id > %(a)s", [1]),
        ("nothing = 1", []),
        ("id LIKE 'a%'", []),
        ("id = %s", ["1); DROP TABLE victim; --"]),
        ("", []),
        (7, []),
        ("id = %s", "1"),
        ("id = %(a)s", {"a": 1}),
    ],
)
def test_bad_conditions_are_refused_and_change_nothing(connection, table, victim, rng, where, params):
    codes = clustered(rng, LAYOUT, 20)
    index = filled(connection, table, codes)
    for ask in (
        lambda: index.search(codes, 3, where=where, params=params),
        lambda: index.search_radius(codes, 3, where=where, params=params),
        lambda: index.count(where, params),
        lambda: index.delete(where=where, params=params),
    ):
        with pytest.raises(InvalidInputError):
            ask()
    assert len(index) == 20


def test_values_that_do_not_fit_are_refused_and_change_nothing(connection, table, rng):
    codes = clustered(rng, LAYOUT, 2)
    index = PostgresIndex.create_table(connection, table, LAYOUT, columns={"n": "smallint", "t": "text"})
    for columns, sentence in [
        ({"n": [1, 100_000]}, "does not fit its column"),
        ({"n": [1, "one"]}, "does not fit its column"),
        ({"t": ["a", "\0"]}, "does not fit its column"),
        ({"t": ["a", object()]}, "cannot adapt type 'object'"),
        ({"n": [1, 1.5]}, "does not fit its column"),
        ({"n": [1]}, "one value for each of 2 codes, got 1"),
        ({"m": [1, 2]}, "no column 'm' besides id and code; its columns are n, t"),
    ]:
        with pytest.raises(InvalidInputError, match=sentence):
            index.add(codes, columns=columns)
    assert len(index) == 0
    with pytest.raises(InvalidInputError, match="did you mean integer"):
        PostgresIndex.create_table(connection, "x", LAYOUT, columns={"n": "integr"})
    with pytest.raises(InvalidInputError, match="has a column 'id' already"):
        PostgresIndex.create_table(connection, "x", LAYOUT, columns={"id": "integer"})


def test_tables_of_another_layout_are_refused(connection, table, rng):
    index = PostgresIndex.create_table(connection, table, CodeLayout(16, 4, "one"))
    assert PostgresIndex.open(connection, table, CodeLayout(16, 4)).layout.fingerprint == "one"
    with pytest.raises(LayoutMismatchError, match="16 symbols of arity 4, not of 16 of arity 3"):
        PostgresIndex.open(connection, table, CodeLayout(16, 3))
    with pytest.raises(LayoutMismatchError, match="codes of another hasher"):
        PostgresIndex.open(connection, table, CodeLayout(16, 4, "another"))
    with pytest.raises(LayoutMismatchError):
        index.search(np.zeros((1, 9), np.uint8), 1)
    with pytest.raises(EngineError, match="already exists"):
        PostgresIndex.create_table(connection, table, LAYOUT)
    with pytest.raises(EngineError, match='there is no table "nowhere" in this database'):
        PostgresIndex.open(connection, "nowhere")


@pytest.mark.parametrize(
    "comment",
    [
        None,
        "mine",
        "rankhash {",
        "rankhash []",
        'rankhash {"n_symbols": 16}',
        'rankhash {"n_symbols": 16, "arity": 4, "fingerprint": "", "bits_per_symbol": 3, "scale": 2, '
        '"copies": [1e9], "step": 1}',
        'rankhash {"n_symbols": 9, "arity": 4, "fingerprint": "", "bits_per_symbol": 3, "scale": 2, '
        '"copies": null, "step": 1}',
        'rankhash {"n_symbols": 16, "arity": 4, "fingerprint": "", "bits_per_symbol": 3, "scale": 2, '
        '"copies": null, "step": NaN}',
    ],
)
def test_tables_without_a_true_layout_are_refused(connection, table, comment):
    PostgresIndex.create_table(connection, table, LAYOUT)
    connection.execute(sql.SQL("COMMENT ON COLUMN {}.code IS {}").format(sql.Identifier(table), sql.Literal(comment)))
    with pytest.raises(LayoutMismatchError, match="is no table of codes"):
        PostgresIndex.open(connection, table)


def test_servers_without_pgvector_search_exactly_only(postgres, connection, rng):
    codes = clustered(rng, LAYOUT, 50)
    connection.execute("CREATE DATABASE plain TEMPLATE template0")
    with psycopg.connect(postgres, dbname="plain", autocommit=True) as plain:
        index = filled(plain, "codes", codes)
        assert not index.uses_pgvector
        assert_same(index.search(codes, 5), flat(codes).search(codes, 5))
        for ask in (index.create_hnsw, lambda: index.search_approximate(codes, 5)):
            with pytest.raises(EngineError, match="no pgvector: run CREATE EXTENSION vector"):
                ask()
        with pytest.raises(EngineError, match="no pgvector: run CREATE EXTENSION vector"):
            PostgresIndex.open(plain, "codes", pgvector=True)
        plain.execute("CREATE SCHEMA elsewhere; CREATE EXTENSION vector SCHEMA elsewhere")
        index = PostgresIndex.open(plain, "codes", pgvector=True)
        index.create_hnsw()
        assert_same(index.search(codes, 5), flat(codes).search(codes, 5))
        assert index.search_approximate(codes, 5).ids.shape == (50, 5)
        plain.execute("UPDATE pg_extension SET extversion = '0.6.2' WHERE extname = 'vector'")
        with pytest.raises(EngineError, match=r"pgvector 0\.6\.2, which knows no bits"):
            PostgresIndex.open(plain, "codes", pgvector=True)
        assert_same(PostgresIndex.open(plain, "codes").search(codes, 5), flat(codes).search(codes, 5))


def test_servers_that_are_too_old_are_refused(connection, table, monkeypatch):
    monkeypatch.setattr(psycopg.ConnectionInfo, "server_version", 130_004)
    with pytest.raises(EngineError, match="PostgreSQL 13 can count bits with pgvector only"):
        PostgresIndex.create_table(connection, table, LAYOUT, pgvector=False)


def test_servers_that_cannot_be_reached_are_named(tmp_path):
    with pytest.raises(EngineError, match="cannot be reached"):
        PostgresIndex.open(f"host={tmp_path} connect_timeout=2", "codes")
    with pytest.raises(InvalidInputError, match="connection string"):
        PostgresIndex.open(7, "codes")
    with pytest.raises(InvalidInputError, match="layout must be a CodeLayout"):
        PostgresIndex.create_table("", "codes", 7)


@pytest.mark.parametrize(
    "server",
    [
        "host=127.0.0.1 port=9 connect_timeout=2 password=correct horse-battery",
        "postgresql://user:horse%battery@127.0.0.1:9/db",
        "postgresql://user:horse-battery/x@127.0.0.1:9/db",
        "postgresql://user:correct@horse-battery.invalid:9/db@127.0.0.1/db",
        "postgresql://user:x@horse-battery@127.0.0.1:9/db",
        "postgresql://user:x@horse-battery\0@127.0.0.1:9/db",
        "host=127.0.0.1 port=9 connect_timeout=2 password=horse-battery",
        "host=horse-battery.invalid connect_timeout=2 password=horse-battery",
        "host=127.0.0.1 port=9 connect_timeout=2 sslmode=horse-battery password=horse-battery",
        {"password": "horse-battery"},
    ],
)
def test_no_error_shows_a_password(server):
    for ask in (lambda: PostgresIndex.open(server, "codes"), lambda: PostgresIndex.create_table(server, "c", LAYOUT)):
        with pytest.raises((EngineError, InvalidInputError)) as caught:
            ask()
        shown = "".join(traceback.format_exception(caught.value))
        assert not re.search(r"horse|battery", shown), shown


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"partitions": -1}, "partitions must be an integer from 0 to 1024"),
        ({"partitions": 10**6}, "partitions must be"),
        ({"weights": [1]}, "one for each of 16 symbols"),
        ({"weights": [0] * 16}, "not all of them 0"),
        ({"weights": [-1] * 16}, "not negative"),
        ({"weights": [np.nan] * 16}, "finite"),
        ({"weights": [1] * 15 + [60_000]}, "levels=15, or fewer, rounds"),
        ({"weights": [1] * 16, "levels": 0}, "levels must be"),
    ],
)
def test_bad_options_are_refused(connection, table, options, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        PostgresIndex.create_table(connection, table, LAYOUT, **options)
    with pytest.raises(EngineError, match="there is no table"):
        PostgresIndex.open(connection, table)


def test_bad_questions_are_refused(connection, table, rng):
    codes = clustered(rng, LAYOUT, 5)
    index = filled(connection, table, codes)
    index.create_hnsw()
    for ask in (
        lambda: index.search(codes, 0),
        lambda: index.search(codes, True),
        lambda: index.search_radius(codes, -1),
        lambda: index.search_radius(codes, np.inf),
        lambda: index.search_approximate(codes, 5, ef_search=4),
        lambda: index.search_approximate(codes, 1001),
        lambda: index.create_hnsw(m=1),
        lambda: index.create_hnsw(m=16, ef_construction=31),
    ):
        with pytest.raises(InvalidInputError, match="must be"):
            ask()


def test_without_psycopg_the_error_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "rankhash.engines.postgres")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r"needs psycopg: pip install 'rankhash\[postgres\]'"):
        importlib.import_module("rankhash.engines.postgres")


def test_nothing_else_imports_psycopg():
    package = Path(rankhash.__file__).parent
    users = {
        path.relative_to(package).parts[:2] for path in package.rglob("*.py") if "import psycopg" in path.read_text()
    }
    assert users == {("engines", "postgres")}


def test_shards_must_be_alike(postgres, connection, table):
    one = PostgresIndex.create_table(connection, table, LAYOUT)
    with psycopg.connect(postgres) as another:
        other = PostgresIndex.create_table(another, table + "b", LAYOUTS[1])
        with pytest.raises(LayoutMismatchError, match="different layouts"):
            PostgresShards([one, other])
    with pytest.raises(InvalidInputError, match="connection of its own"):
        PostgresShards([one, one])
    with pytest.raises(InvalidInputError, match="at least one"):
        PostgresShards([])

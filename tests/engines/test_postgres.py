"""Codes in a real PostgreSQL: the answers are those of FlatIndex."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from rankhash import EngineError
from rankhash.engines.postgres import ApproximateNeighbors, PostgresIndex

from .codes import LAYOUTS, assert_same, clustered, filled, flat

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "postgres.md"


@pytest.mark.parametrize("pgvector", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_answers_are_those_of_a_flat_index(connection, table, rng, layout, pgvector):
    codes, ids = clustered(rng, layout, 700), rng.permutation(5000)[:700]
    index = filled(connection, table, codes, layout, ids, pgvector=pgvector)
    expected, queries = flat(codes, layout, ids), clustered(rng, layout, 5)
    assert index.uses_pgvector == pgvector
    for k in (1, 10, 300, 701):
        assert_same(index.search(queries, k), expected.search(queries, k))
    for radius in (0, 2.5, layout.n_symbols):
        assert_same(index.search_radius(queries, radius), expected.search_radius(queries, radius))
    assert_same(index.search(queries[:0], 3), expected.search(queries[:0], 3))
    assert_same(index.search_radius(queries[:0], 3), expected.search_radius(queries[:0], 3))


def test_partitions_and_more_queries_than_go_together_change_nothing(connection, table, rng):
    codes, queries = clustered(rng, LAYOUTS[2], 500), clustered(rng, LAYOUTS[2], 150)
    index = filled(connection, table, codes, partitions=3)
    n_parts = connection.execute("SELECT count(*) FROM pg_inherits WHERE inhparent = to_regclass(%s)", [index.table])
    assert n_parts.fetchone() == (3,)
    assert_same(index.search(queries, 20), flat(codes).search(queries, 20))


def test_exact_search_stays_exact_though_there_is_an_hnsw_index(connection, table, rng):
    codes, queries = clustered(rng, LAYOUTS[2], 3000), clustered(rng, LAYOUTS[2], 5)
    index = filled(connection, table, codes)
    index.create_hnsw(m=2, ef_construction=4)
    with connection.transaction():
        connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        assert_same(index.search(queries, 50), flat(codes).search(queries, 50))


def test_approximate_search_says_so_and_finds_most(connection, table, rng):
    codes, queries = clustered(rng, LAYOUTS[2], 3000), clustered(rng, LAYOUTS[2], 20)
    index = filled(connection, table, codes)
    with pytest.raises(EngineError, match="has no HNSW index; create_hnsw makes one"):
        index.search_approximate(queries, 10)
    index.create_hnsw()
    with connection.transaction():
        connection.execute("SET LOCAL enable_seqscan = off")
        found = index.search_approximate(queries, 10, ef_search=200)
        few = index.search_approximate(queries, 10, where="id < %s", params=[200])
    assert isinstance(found, ApproximateNeighbors)
    assert repr(found).startswith("ApproximateNeighbors")
    expected = flat(codes).search(queries, 10)
    assert (found.distances <= expected.distances[:, -1:]).mean() > 0.9
    assert (few.ids < 200).all()
    assert (few.ids >= 0).mean() > 0.9
    assert (np.diff(found.distances) >= 0).all()


@pytest.mark.parametrize("layout", LAYOUTS[1:4], ids=str)
def test_whole_weights_are_exact(connection, table, rng, layout):
    codes, queries = clustered(rng, layout, 500), clustered(rng, layout, 5)
    weights = 3 * rng.integers(0, 5, layout.n_symbols)
    index = filled(connection, table, codes, layout, weights=weights)
    expected = flat(codes, layout)
    assert_same(index.search(queries, 60), expected.search(queries, 60, weights=weights))
    assert_same(index.search_radius(queries, 20), expected.search_radius(queries, 20, weights=weights))


def test_other_weights_are_rounded_to_levels(connection, table, rng):
    layout = LAYOUTS[2]
    codes, queries = clustered(rng, layout, 500), clustered(rng, layout, 5)
    weights = rng.random(layout.n_symbols)
    index = filled(connection, table, codes, weights=weights, levels=31)
    rounded = np.rint(weights / weights.max() * 31)
    expected = flat(codes).search(queries, 60, weights=rounded)
    found = index.search(queries, 60)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_allclose(found.distances, expected.distances * weights.max() / 31, rtol=1e-6)
    np.testing.assert_allclose(index.weights, rounded * weights.max() / 31)
    exact = flat(codes).search(queries, 60, weights=weights).distances
    assert np.abs(np.sort(found.distances) - exact).max() <= layout.n_symbols * weights.max() / 31 / 2


def test_sql_of_the_guide_gives_the_same_answers(connection, rng):
    codes = clustered(rng, LAYOUTS[2], 300)
    connection.execute("CREATE SCHEMA guide; SET search_path = guide, public")
    index = PostgresIndex.create_table(connection, "digits", LAYOUTS[2], columns={"digit": "integer"})
    index.add(codes, columns={"digit": np.arange(300) % 10})
    index.create_hnsw()
    statements = [
        s for block in re.findall(r"```sql\n(.*?)```", GUIDE.read_text(), re.DOTALL) for s in block.split(";\n")
    ]
    answers = [connection.execute(s) for s in statements if s.strip() and not s.lstrip().startswith("--")]
    comment, plain, few, _, some = (answer.fetchall() if answer.description else None for answer in answers)
    expected = flat(codes).search(codes[7:8], 10)
    assert json.loads(comment[0][0].removeprefix("rankhash "))["scale"] == 2
    assert plain == list(zip(*(part[0].tolist() for part in expected), strict=True))
    among = flat(codes).search(codes[7:8], 10, filter=np.flatnonzero(np.isin(np.arange(300) % 10, (3, 8))))
    assert few == list(zip(*(part[0].tolist() for part in among), strict=True))
    assert len(some) == 10

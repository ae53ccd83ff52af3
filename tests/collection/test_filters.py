"""Filters of a collection: the same answers with and without an index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankhash import LSH, Collection
from rankhash.collection.filters import (
    parse,
)

from .model import N_FEATURES, passes

# -- answers -------------------------------------------------------------------------------------------------------

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-4, 4),
    st.sampled_from([0.5, -1.5, 1e300, 2**62]),
    st.text("abç'\"\\ \n", max_size=3),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner)
)
metadata = st.lists(
    st.one_of(st.none(), st.dictionaries(st.sampled_from(["a", "b", "x y"]), values)), min_size=1, max_size=12
)
literals = st.one_of(st.integers(-4, 4), st.sampled_from([0.5, -1.5, 1e300, 2**62]), st.text("abç'\"\\ \n", max_size=3))
paths = st.sampled_from(["a", "b", "`x y`", "a.b", "b.a.a", "`missing`"])


def written(value):
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return (
        {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else repr(value)
    )


@st.composite
def single_conditions(draw):
    path = draw(paths)
    form = draw(st.sampled_from(["exists", "in", "between", "equal", "ordered", "contains", "like"]))
    if form == "exists":
        return f"exists {path}"
    if form == "in":
        return f"{path} in ({', '.join(map(written, draw(st.lists(scalars, min_size=1, max_size=4))))})"
    if form == "equal":
        return f"{path} {draw(st.sampled_from(['=', '!=']))} {written(draw(scalars))}"
    if form == "contains":
        return f"{written(draw(scalars))} in {path}"
    if form == "like":
        return f"{path} like {written(draw(st.text('aBç%_', max_size=4)))}"
    low = draw(literals)
    if form == "ordered":
        return f"{path} {draw(st.sampled_from(['<', '<=', '>', '>=']))} {written(low)}"
    high = draw(st.text("ab", max_size=2) if isinstance(low, str) else st.integers(-4, 4))
    return f"{path} between {written(low)} and {written(high)}"


expressions = st.recursive(
    single_conditions(),
    lambda inner: st.one_of(
        inner.map(lambda part: f"not ({part})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]}) and ({parts[1]})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]}) or ({parts[1]})"),
    ),
    max_leaves=5,
)
HASHER = LSH(8, random_state=0).fit(np.eye(N_FEATURES))


@given(metadata, st.lists(expressions, min_size=1, max_size=4), st.sets(paths))
@settings(max_examples=150)
@pytest.mark.filterwarnings("ignore:no item has the field")
def test_answers_are_those_of_a_walk_over_the_tree(fields, asked, indexed):
    with Collection.create(":memory:", HASHER) as collection:
        half = len(fields) // 2
        for path in indexed:
            collection.index_field(path)
        for part in (fields[:half], fields[half:]):
            if part:
                collection.add(
                    np.ones((len(part), N_FEATURES)), [f"i{len(collection) + i}" for i in range(len(part))], part
                )
            known = fields[: len(collection)]
            for expression in asked:
                expected = [f"i{i}" for i, item in enumerate(known) if passes(parse(expression), item)]
                assert collection.count(expression) == len(expected)
                found = collection.search(np.ones((1, N_FEATURES)), 20, where=expression).ids[0]
                assert [name for name in found if name is not None] == expected


def test_a_pattern_may_escape_its_signs():
    with Collection.create(":memory:", HASHER) as collection:
        collection.add(np.ones((3, N_FEATURES)), metadata={"a": ["5%", "50", "é_x"]})
        assert collection.count(r"a like '5\\%'") == 1
        assert collection.count("a like '5_'") == 2
        assert collection.count(r"a like '_\\_X'") == 1


def test_a_field_that_no_item_has_is_a_warning():
    with Collection.create(":memory:", HASHER) as collection:
        assert collection.count("colour = 'red'") == 0  # nothing is known of an empty collection
        collection.add(np.ones((2, N_FEATURES)), metadata=[{"color": "red"}, None])
        assert collection.count("not exists colour") == 2
        for call in (
            lambda: collection.count("colour = 'red'"),
            lambda: collection.search(np.ones(N_FEATURES), where="color = 'red' or colour = 'red'"),
            lambda: collection.ids(where="'red' not in colour"),
            lambda: collection.delete(where="colour = 'red'"),
        ):
            with pytest.warns(UserWarning, match="no item has the field colour, which the filter tests"):
                call()
        with collection.snapshot(warn=False) as now:
            assert now.unknown_fields("colour = 1 and size.w < 2 and color = 'x'") == ["colour", "size.w"]
            assert now.count("colour = 'red'") == 0
        collection.add(np.ones((1, N_FEATURES)), metadata=[{"colour": "red"}])
        assert collection.count("colour = 'red'") == 1


def test_items_without_metadata_are_counted_where_something_is_missing():
    with Collection.create(":memory:", HASHER) as collection:
        collection.add(np.ones((5, N_FEATURES)))
        collection.add(np.ones((2, N_FEATURES)), metadata=[{"a": 1}, None])
        assert collection.count("not exists a") == 6
        assert collection.count("a != 1") == 6
        assert collection.count("exists a") == 1
        collection.delete([0, 6])
        assert collection.count("a != 1") == 4


def test_an_indexed_field_is_looked_up_in_its_index():
    with Collection.create(":memory:", HASHER) as collection:
        collection.add(np.ones((3, N_FEATURES)), metadata=[{"a": 1}, {"a": 2}, {}])
        collection.index_field("a")
        assert collection.stats().indexed_fields == ("a",)
        from rankhash.collection._facets import read_fields
        from rankhash.collection._filter_sql import to_sql

        with collection._database.connections.reading() as connection:
            condition, parameters = to_sql(parse("a = 2"), read_fields(connection))
            plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT number FROM items WHERE {condition}", parameters)
            text = " ".join(row[3] for row in plan)
        assert "SEARCH facets USING PRIMARY KEY (field=? AND kind=? AND value=?)" in text
        assert "SCAN items" not in text
        collection.index_field("a", drop=True)
        assert collection.stats().indexed_fields == ()
        assert collection.count("a = 2") == 1


DAYS = {
    "early": "2024-01-01",
    "noon": "2024-01-02T12:00:00",
    "late": "2024-01-02T23:59:59.5+00:00",
    "next": "2024-01-03",
}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("day = 2024-01-02", ["noon", "late"]),
        ("day != 2024-01-02", ["early", "next"]),
        ("day <= 2024-01-02", ["early", "noon", "late"]),
        ("day < 2024-01-02", ["early"]),
        ("day > 2024-01-02", ["next"]),
        ("day >= 2024-01-02", ["noon", "late", "next"]),
        ("day between 2024-01-01 and 2024-01-02", ["early", "noon", "late"]),
        ("day not between 2024-01-02 and 2024-01-02", ["early", "next"]),
        ("day in (2024-01-01, 2024-01-03)", ["early", "next"]),
        ("day >= 2024-01-02T12:00 and day <= 2024-01-02T12:00", ["noon"]),
    ],
)
def test_a_date_stands_for_the_whole_day(rng, where, expected):
    with Collection.create(":memory:", metric="cosine") as collection:
        collection.add(rng.normal(size=(4, 3)), list(DAYS), {"day": list(DAYS.values())})
        assert sorted(collection.ids(where=where)) == sorted(expected)
        collection.index_field("day")
        assert sorted(collection.ids(where=where)) == sorted(expected)

"""Filters given as data become trees, and trees become text that says the same."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankhash import FilterError
from rankhash.collection.filters import And, Between, Compare, Contains, Exists, In, Like, Not, Or, parse
from rankhash.integrations import _filters

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters='"\\`'), min_size=1, max_size=8)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda names: _filters.field(*names))
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = TEXTS | NUMBERS | st.booleans() | st.none()
TESTS = (
    st.builds(Compare, PATHS, st.just("="), VALUES)
    | st.builds(Compare, PATHS, st.sampled_from(["<", "<=", ">", ">="]), TEXTS | NUMBERS)
    | st.builds(In, PATHS, st.lists(VALUES, min_size=1, max_size=4).map(tuple))
    | st.builds(Between, PATHS, NUMBERS, NUMBERS)
    | st.builds(Contains, PATHS, VALUES)
    | st.builds(Like, PATHS, TEXTS)
    | st.builds(Exists, PATHS)
)
TREES = st.recursive(
    TESTS,
    lambda parts: (
        st.builds(Not, parts)
        | st.builds(And, st.lists(parts, min_size=2, max_size=3).map(tuple))
        | st.builds(Or, st.lists(parts, min_size=2, max_size=3).map(tuple))
    ),
    max_leaves=8,
)


@given(TREES)
def test_text_of_a_tree_is_parsed_as_the_tree(tree):
    assert repr(parse(_filters.to_text(tree))) == repr(tree)  # repr tells True from 1 and -0.0 from 0.0


def test_nothing_passes_a_choice_among_nothing():
    path = _filters.field("a")
    assert _filters.one_of(path, []) == And((Exists(path), Not(Exists(path))))


@pytest.mark.parametrize("tree", [Or(()), And(()), Not(And(()))])
def test_logic_over_nothing_is_refused(tree):
    with pytest.raises(FilterError, match="at least one condition"):
        _filters.to_text(tree)


def test_missing_counts_as_null():
    path = _filters.field("a")
    absent = Or((Not(Exists(path)), Compare(path, "=", None)))
    assert _filters.equal(path, None) == absent
    assert _filters.one_of(path, [1, None]) == Or((In(path, (1,)), absent))
    assert _filters.one_of(path, [None]) == Or((absent,))


def test_numpy_scalars_are_values():
    tree = _filters.equal(_filters.field("a"), np.int64(3))
    assert _filters.to_text(tree) == "`a` = 3"


@pytest.mark.parametrize("name", ["", 'a"b', "a`b", "a\\b", "a\nb", 3])
def test_names_that_no_path_can_hold_are_refused(name):
    with pytest.raises(FilterError, match="a field is named by text"):
        _filters.field(name)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1], {"a": 1}, b"x", object()])
def test_values_that_nothing_compares_with_are_refused(value):
    with pytest.raises(FilterError, match="compares with"):
        _filters.equal(_filters.field("a"), value)
    with pytest.raises(FilterError, match="compares with"):
        _filters.compare(_filters.field("a"), "<", value)


def test_order_of_truth_values_and_choices_of_no_list_are_refused():
    with pytest.raises(FilterError, match="number or text"):
        _filters.compare(_filters.field("a"), ">", True)
    with pytest.raises(FilterError, match="must be a list"):
        _filters.one_of(_filters.field("a"), (1, 2))


def test_examples_of_the_docstrings_are_true():
    assert doctest.testmod(_filters) == (0, 2)

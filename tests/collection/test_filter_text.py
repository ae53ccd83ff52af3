"""Filters as text: the tree that an expression means, and where a mistake is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankhash import FilterError, InvalidInputError
from rankhash.collection.filters import (
    MAX_DEPTH,
    MAX_TESTS,
    And,
    Between,
    Compare,
    Contains,
    Exists,
    In,
    Like,
    Not,
    Or,
    field_path,
    parse,
)

A, B = '$."a"', '$."b"."c"'

TREES = {
    "a = 1": Compare(A, "=", 1),
    "a == -1.5e2": Compare(A, "=", -150.0),
    "a=+3": Compare(A, "=", 3),
    "a = 9223372036854775807": Compare(A, "=", 2**63 - 1),
    "a = 9223372036854775808": Compare(A, "=", 2.0**63),
    "b.c <> 'x'": Not(Compare(B, "=", "x")),
    "a != true": Not(Compare(A, "=", True)),
    'a >= "say \\"yes\\" \\\\ \\n"': Compare(A, ">=", 'say "yes" \\ \n'),
    "a = 2024-02-29": Between(A, "2024-02-29", "2024-02-29~"),
    "a != 2024-02-29T10:30": Not(Between(A, "2024-02-29T10:30", "2024-02-29T10:30~")),
    "a in (2024-01-01, 3)": Or((In(A, (3,)), Between(A, "2024-01-01", "2024-01-01~"))),
    "a in (1, 'x', null, false)": In(A, (1, "x", None, False)),
    "a not in (2)": Not(In(A, (2,))),
    "a between 1 and 2 and exists b.c": And((Between(A, 1, 2), Exists(B))),
    "a not between 'p' and 'q'": Not(Between(A, "p", "q")),
    "EXISTS(a) Or NOT a < 2": Or((Exists(A), Not(Compare(A, "<", 2)))),
    "a = 1 or a = 2 and a = 3": Or((Compare(A, "=", 1), And((Compare(A, "=", 2), Compare(A, "=", 3))))),
    "(a = 1 or a = 2) and not not a = 3": And(
        (Or((Compare(A, "=", 1), Compare(A, "=", 2))), Not(Not(Compare(A, "=", 3))))
    ),
    "`a`.`odd name; '` = 1": Compare('$."a"."odd name; \'"', "=", 1),
    "größe = 'ß'": Compare('$."größe"', "=", "ß"),
    " \n a\t=\n1 ": Compare(A, "=", 1),
    "'x' in a and 3 not in b.c": And((Contains(A, "x"), Not(Contains(B, 3)))),
    "true in a or null in a": Or((Contains(A, True), Contains(A, None))),
    "a LIKE 'x%' or b.c not like '_'": Or((Like(A, "x%"), Not(Like(B, "_")))),
    "like like 'like%'": Like('$."like"', "like%"),
}


@pytest.mark.parametrize("expression", TREES)
def test_expression_means_its_tree(expression):
    assert parse(expression) == TREES[expression]


@pytest.mark.parametrize(
    ("expression", "position", "message"),
    [
        ("", 0, "expected the name of a field, got the end"),
        ("price", 5, "expected an operator"),
        ("price <", 7, "expected a number or text, got the end"),
        ("price < )", 8, "got ')'"),
        ("price < true", 8, "expected a number or text"),
        ("price < 5 5", 10, "expected and, or, or the end"),
        ("price = 5x", 8, "cannot read '5x'"),
        ("price = 'abc", 8, "cannot read"),
        ("price ; drop table items", 6, "cannot read ';'"),
        ("(price = 1", 10, "expected )"),
        ("a in 3", 5, "expected ("),
        ("a in ()", 6, "expected a number"),
        ("a in (1, )", 9, "expected a number"),
        ("a between 1 or 2", 12, "expected and"),
        ("a between 1 and 'x'", 16, "two numbers or two texts"),
        ("a not = 1", 6, "expected in, between or like"),
        ("and = 1", 0, "back quotes"),
        ("exists", 6, "the name of a field"),
        ('`a"b` = 1', 0, "without"),
        ("a = 1e999", 4, "64 bits"),
        ("a = '\ud800'", 4, "UTF-8"),
        ("a. = 1", 3, "the name of a field"),
        ("1 = a", 0, "the name of a field"),
        ("a = b", 4, "expected a number, text"),
        ("'x' in 3", 7, "the name of a field"),
        ("'x' not a", 0, "the name of a field"),
        ("a > 2024-13-01", 4, "expected a date such as 2024-12-31, but month"),
        ("a between 2024-01-01 and 3", 25, "two numbers or two texts"),
        ("a like 3", 7, "expected a pattern"),
        (f"a like '{'%' * 1001}'", 7, "at most 1000 characters"),
    ],
)
def test_mistake_is_shown_with_its_position(expression, position, message):
    with pytest.raises(FilterError) as caught:
        parse(expression)
    assert caught.value.position == position
    assert message in str(caught.value)
    assert f"character {position + 1}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_limits_hold():
    parse("(" * MAX_DEPTH + "a = 1" + ")" * MAX_DEPTH)
    parse(" or ".join(["a = 1"] * MAX_TESTS))
    for hostile in ("(" * 10_000, "not " * 5000 + "a = 1", " or ".join(["a=1"] * (MAX_TESTS + 1)), "a" * 30_000):
        with pytest.raises(FilterError):
            parse(hostile)
    for wrong in (3, None, b"a = 1"):
        with pytest.raises(InvalidInputError):
            parse(wrong)


def test_fields_are_named_as_in_filters():
    assert field_path("b.c") == B
    for wrong in ("", "a b", "a.", "'a'", "a = 1"):
        with pytest.raises(FilterError):
            field_path(wrong)


@given(st.text(max_size=30))
@settings(max_examples=300)
def test_any_text_is_a_tree_or_a_filter_error(text):
    position = 0
    try:
        parse(text)
    except FilterError as error:
        position = error.position
    assert 0 <= position <= len(text)

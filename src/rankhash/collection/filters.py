"""Filter expressions over metadata: text to a small tree, or an error with the position of the mistake.

::

    price < 20 and (colour in ("red", "blue") or not exists sale) and size.width between 2 and 5

    or      := and ("or" and)*
    and     := not ("and" not)*
    not     := "not" not | "(" or ")" | test
    test    := "exists" field | field operator value | field ["not"] "in" "(" value, … ")"
               | field ["not"] "between" value "and" value | field ["not"] "like" text
               | value ["not"] "in" field          a list has the value
    field   := name ("." name)*           a name with other characters is written in `back quotes`
    value   := number | "text" | 'text' | true | false | null | date
    date    := 2024-12-31 | 2024-12-31T18:30 | 2024-12-31T18:30:00      that whole day, minute or second
"""

from __future__ import annotations

import re
from typing import NoReturn

from ..errors import FilterError, InvalidInputError
from ._filter_dates import LAST, by_date, mistake_in
from ._filter_tree import And, Between, Compare, Contains, Exists, Filter, In, Like, Not, Or, Value
from ._tokens import Token, mistake, tokenize

__all__ = [
    "And",
    "Between",
    "Compare",
    "Contains",
    "Exists",
    "Filter",
    "In",
    "Like",
    "Not",
    "Or",
    "Value",
    "field_path",
    "parse",
]

MAX_LENGTH = 20_000
"""Characters of an expression"""
MAX_DEPTH = 40
"""Levels of ``not`` and parentheses"""
MAX_TESTS = 400
"""Tests of one expression"""
MAX_PATTERN = 1000
"""Characters of a pattern"""

_CONSTANTS: dict[str, Value] = {"true": True, "false": False, "null": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def parse(expression: str) -> Filter:
    """The tree of a filter expression.

    Raises
    ------
    FilterError
        If the expression has a mistake, at the character ``position``.

    Examples
    --------
    >>> parse("price < 20 and not exists sale")
    And(parts=(Compare(path='$."price"', operator='<', value=20), Not(part=Exists(path='$."sale"'))))
    """
    if not isinstance(expression, str):
        raise InvalidInputError(f"a filter must be text such as 'price < 20', got {expression!r:.60}")
    return _Parser(expression).parse()


def field_path(name: str) -> str:
    """The JSON path of a field's name, such as ``price`` or ``size.width``."""
    if not isinstance(name, str):
        raise InvalidInputError(f"a field must be named by text such as 'size.width', got {name!r:.60}")
    parser = _Parser(name)
    path = parser.field()
    parser.expect_end()
    return path


class _Parser:
    """A recursive-descent parser with one token of look-ahead."""

    def __init__(self, expression: str) -> None:
        if len(expression) > MAX_LENGTH:
            raise FilterError(f"a filter may have {MAX_LENGTH} characters, this one has {len(expression)}", MAX_LENGTH)
        self.expression = expression
        self.tokens = tokenize(expression)
        self.place = 0
        self.n_tests = 0

    def parse(self) -> Filter:
        tree = self._either(0)
        self.expect_end()
        return tree

    def field(self) -> str:
        names = [self._field_name()]
        while self._take("."):
            names.append(self._field_name())
        return "$" + "".join(f'."{name}"' for name in names)

    def expect_end(self) -> None:
        if self._next.kind != "end":
            self._fail("expected and, or, or the end")

    # -- tokens ----------------------------------------------------------------------------------------------------

    @property
    def _next(self) -> Token:
        return self.tokens[self.place]

    def _take(self, *texts: str) -> Token | None:
        """The next token if it is one of these words or signs."""
        token = self._next
        if token.kind not in ("word", "sign") or token.text not in texts:
            return None
        self.place += 1
        return token

    def _need(self, text: str) -> None:
        if not self._take(text):
            self._fail(f"expected {text}")

    def _fail(self, what: str) -> NoReturn:
        token = self._next
        got = "the end" if token.kind == "end" else f"{token.text!r:.40}"
        self._fail_at(token.start, f"{what}, got {got}")

    def _fail_at(self, position: int, what: str) -> NoReturn:
        raise mistake(self.expression, position, what)

    # -- the grammar -----------------------------------------------------------------------------------------------

    def _either(self, depth: int) -> Filter:
        parts = [self._all(depth)]
        while self._take("or"):
            parts.append(self._all(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _all(self, depth: int) -> Filter:
        parts = [self._negation(depth)]
        while self._take("and"):
            parts.append(self._negation(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _negation(self, depth: int) -> Filter:
        if depth > MAX_DEPTH:
            self._fail(f"expected fewer than {MAX_DEPTH} levels of not and parentheses")
        if self._take("not"):
            return Not(self._negation(depth + 1))
        if self._take("("):
            tree = self._either(depth + 1)
            self._need(")")
            return tree
        return self._test()

    def _test(self) -> Filter:
        self.n_tests += 1
        if self.n_tests > MAX_TESTS:
            self._fail(f"expected at most {MAX_TESTS} tests")
        if self._take("exists"):
            return self._exists()
        if self._next.kind in ("number", "text") or self._next.text in _CONSTANTS:
            return self._contains()
        path = self.field()
        negated = self._take("not") is not None
        if self._take("in"):
            tree: Filter = self._one_of(path)
        elif self._take("between"):
            tree = self._between(path)
        elif self._next.kind == "name" and self._next.text.lower() == "like":
            self.place += 1
            tree = Like(path, self._pattern())
        elif negated:
            self._fail("expected in, between or like")
        else:
            return self._comparison(path)
        return Not(tree) if negated else tree

    def _contains(self) -> Filter:
        """A value, and the list that may contain it."""
        place = self.place
        value = self._value(ordered=False)
        negated = self._take("not") is not None
        if not self._take("in"):
            self.place = place
            self._fail("expected the name of a field")
        tree = Contains(self.field(), value)
        return Not(tree) if negated else tree

    def _pattern(self) -> str:
        token = self._next
        if token.kind != "text":
            self._fail("expected a pattern such as 'abc%'")
        pattern = self._text(token)
        if len(pattern) > MAX_PATTERN:
            self._fail(f"expected a pattern of at most {MAX_PATTERN} characters")
        self.place += 1
        return pattern

    def _exists(self) -> Filter:
        if self._take("("):
            path = self.field()
            self._need(")")
            return Exists(path)
        return Exists(self.field())

    def _comparison(self, path: str) -> Filter:
        sign = self._take("=", "==", "!=", "<>", "<", "<=", ">", ">=")
        if sign is None:
            self._fail("expected an operator such as = or <, in, between or like")
        ordered = sign.text in ("<", "<=", ">", ">=")
        if self._next.kind == "date":
            return by_date(path, sign.text, self._date())
        value = self._value(ordered=ordered)
        if ordered:
            return Compare(path, sign.text, value)
        equal = Compare(path, "=", value)
        return Not(equal) if sign.text in ("!=", "<>") else equal

    def _between(self, path: str) -> Filter:
        low = self._date() if self._next.kind == "date" else self._value(ordered=True)
        self._need("and")
        place = self._next.start
        high = self._date() + LAST if self._next.kind == "date" else self._value(ordered=True)
        if isinstance(low, str) != isinstance(high, str):
            self._fail_at(place, "expected two numbers or two texts")
        return Between(path, low, high)

    def _one_of(self, path: str) -> Filter:
        """One of some values; a date stands for all texts of that time."""
        self._need("(")
        values: list[Value] = []
        dates: list[Filter] = []
        while True:
            if self._next.kind == "date":
                dates.append(by_date(path, "=", self._date()))
            else:
                values.append(self._value(ordered=False))
            if not self._take(","):
                break
        self._need(")")
        parts = [*([In(path, tuple(values))] if values else []), *dates]
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _date(self) -> str:
        """The text of a valid date."""
        token = self._next
        wrong = mistake_in(token.text)
        if wrong is not None:
            self._fail_at(token.start, f"expected a date such as 2024-12-31, but {wrong}")
        self.place += 1
        return token.text

    def _value(self, *, ordered: bool) -> Value:
        token = self._next
        if token.kind == "number":
            value: Value = self._number(token)
        elif token.kind == "text":
            value = self._text(token)
        elif token.text in _CONSTANTS and token.kind == "word" and not ordered:
            value = _CONSTANTS[token.text]
        else:
            self._fail("expected a number or text" if ordered else "expected a number, text, true, false or null")
        self.place += 1
        return value

    def _number(self, token: Token) -> int | float:
        if re.fullmatch(r"[-+]?[0-9]{1,19}", token.text) and -(2**63) <= int(token.text) < 2**63:
            return int(token.text)
        value = float(token.text)
        if abs(value) == float("inf"):
            self._fail_at(token.start, f"expected a number that fits into 64 bits, got {token.text:.40}")
        return value

    def _text(self, token: Token) -> str:
        text = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), token.text[1:-1], flags=re.DOTALL)
        if any(0xD800 <= ord(letter) < 0xE000 or letter == "\0" for letter in text):
            self._fail_at(token.start, "expected text that can be written as UTF-8")
        return text

    def _field_name(self) -> str:
        token = self._next
        if token.kind not in ("name", "quoted"):
            hint = "; a word of the language as a name stands in `back quotes`" if token.kind == "word" else ""
            self._fail(f"expected the name of a field{hint}")
        name = token.text.strip("`") if token.kind == "quoted" else token.text
        if not name or any(letter in '"\\' or ord(letter) < 32 or 0xD800 <= ord(letter) < 0xE000 for letter in name):
            self._fail('expected a name without ", \\ and control characters')
        self.place += 1
        return name

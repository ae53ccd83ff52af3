"""Filter expressions over metadata: text to a small tree, or an error that says where the mistake is.

::

    price < 20 and (colour in ("red", "blue") or not exists sale) and size.width between 2 and 5

    or      := and ("or" and)*
    and     := not ("and" not)*
    not     := "not" not | "(" or ")" | test
    test    := "exists" field | field operator value | field ["not"] "in" "(" value, … ")"
               | field ["not"] "between" value "and" value
    field   := name ("." name)*           a name with other characters stands in `back quotes`
    value   := number | "text" | 'text' | true | false | null
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from ..errors import FilterError, InvalidInputError

MAX_LENGTH = 20_000
MAX_DEPTH = 40
MAX_TESTS = 400

Value: TypeAlias = "int | float | str | bool | None"


@dataclass(frozen=True)
class Compare:
    """A field beside a value; the operator is one of = < <= > >=."""

    path: str
    operator: str
    value: Value


@dataclass(frozen=True)
class In:
    """A field that is one of several values."""

    path: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Between:
    """A field from one value to another, both included."""

    path: str
    low: Value
    high: Value


@dataclass(frozen=True)
class Exists:
    """A field that is there, also if it is null."""

    path: str


@dataclass(frozen=True)
class Not:
    """The contrary."""

    part: Filter


@dataclass(frozen=True)
class And:
    """All of the parts."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True)
class Or:
    """One of the parts at least."""

    parts: tuple[Filter, ...]


Filter: TypeAlias = "Compare | In | Between | Exists | Not | And | Or"

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<quoted>`[^`]*`)
    | (?P<name>[^\W\d]\w*)
    | (?P<sign><=|>=|!=|<>|==|[=<>(),.])
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = {"and", "or", "not", "in", "between", "exists", "true", "false", "null"}
_CONSTANTS: dict[str, Value] = {"true": True, "false": False, "null": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True)
class _Token:
    kind: str  # number, text, name, word, sign, end
    text: str
    start: int


def parse(expression: str) -> Filter:
    """The tree of a filter expression.

    Raises
    ------
    FilterError
        If the expression has a mistake; its ``position`` says where.

    Examples
    --------
    >>> parse("price < 20 and not exists sale")
    And(parts=(Compare(path='$."price"', operator='<', value=20), Not(part=Exists(path='$."sale"'))))
    """
    if not isinstance(expression, str):
        raise InvalidInputError(f"a filter must be text such as 'price < 20', got {expression!r:.60}")
    if len(expression) > MAX_LENGTH:
        raise FilterError(f"a filter may have {MAX_LENGTH} characters, this one has {len(expression)}", MAX_LENGTH)
    return _Parser(expression).parse()


def field_path(name: str) -> str:
    """The path in JSON of a field's name, such as ``price`` or ``size.width``."""
    if not isinstance(name, str):
        raise InvalidInputError(f"a field must be named by text such as 'size.width', got {name!r:.60}")
    parser = _Parser(name)
    path = parser.field()
    parser.expect_end()
    return path


class _Parser:
    """Goes through the tokens once, with one to look at."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.tokens = self._tokenize()
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

    def _tokenize(self) -> list[_Token]:
        tokens: list[_Token] = []
        position, end = 0, len(self.expression.rstrip())
        while position < end:
            match = _TOKEN.match(self.expression, position)
            if match is None or match.lastgroup is None:
                position += len(self.expression[position:]) - len(self.expression[position:].lstrip())
                self._fail_at(position, f"cannot read {self.expression[position]!r}")
            kind, text, start = match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)
            if kind == "name" and text.lower() in _WORDS:
                kind, text = "word", text.lower()
            tokens.append(_Token(kind, text, start))
            position = match.end()
        return [*tokens, _Token("end", "", end)]

    @property
    def _next(self) -> _Token:
        return self.tokens[self.place]

    def _take(self, *texts: str) -> _Token | None:
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
        shown = self.expression if len(self.expression) <= 80 else self.expression[:77] + "..."
        raise FilterError(f"the filter {shown!r} has a mistake at character {position + 1}: {what}", position)

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
        path = self.field()
        negated = self._take("not") is not None
        if self._take("in"):
            tree: Filter = In(path, self._values())
        elif self._take("between"):
            tree = self._between(path)
        elif negated:
            self._fail("expected in or between")
        else:
            return self._comparison(path)
        return Not(tree) if negated else tree

    def _exists(self) -> Filter:
        if self._take("("):
            path = self.field()
            self._need(")")
            return Exists(path)
        return Exists(self.field())

    def _comparison(self, path: str) -> Filter:
        sign = self._take("=", "==", "!=", "<>", "<", "<=", ">", ">=")
        if sign is None:
            self._fail("expected an operator such as = or <, in, or between")
        ordered = sign.text in ("<", "<=", ">", ">=")
        value = self._value(ordered=ordered)
        if ordered:
            return Compare(path, sign.text, value)
        equal = Compare(path, "=", value)
        return Not(equal) if sign.text in ("!=", "<>") else equal

    def _between(self, path: str) -> Filter:
        low = self._value(ordered=True)
        self._need("and")
        place = self._next.start
        high = self._value(ordered=True)
        if isinstance(low, str) != isinstance(high, str):
            self._fail_at(place, "expected two numbers or two texts")
        return Between(path, low, high)

    def _values(self) -> tuple[Value, ...]:
        self._need("(")
        values = [self._value(ordered=False)]
        while self._take(","):
            values.append(self._value(ordered=False))
        self._need(")")
        return tuple(values)

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

    def _number(self, token: _Token) -> int | float:
        if re.fullmatch(r"[-+]?\d{1,19}", token.text) and -(2**63) <= int(token.text) < 2**63:
            return int(token.text)
        value = float(token.text)
        if abs(value) == float("inf"):
            self._fail_at(token.start, f"expected a number that fits into 64 bits, got {token.text:.40}")
        return value

    def _text(self, token: _Token) -> str:
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

"""The tokens of a filter expression, read in one pass: every pattern takes time linear in the token's length."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import FilterError

WORDS = {"and", "or", "not", "in", "between", "exists", "true", "false", "null"}

# The first character decides which pattern applies. A number takes every character that could belong to a number or a
# name, and is checked afterwards: no pattern has two ways to match the same characters, so none backtracks.
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?)
    | (?P<number>[-+]?\.?[0-9](?:(?<=[eE])[-+]|[\w.])*)
    | (?P<text>"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')
    | (?P<quoted>`[^`]*`)
    | (?P<name>[^\W\d]\w*)
    | (?P<sign><=|>=|!=|<>|==|[=<>(),.])
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class Token:
    """A piece of an expression; ``kind`` is date, number, text, quoted, name, word, sign or end."""

    kind: str
    text: str
    start: int


def tokenize(expression: str) -> list[Token]:
    """The tokens of an expression, the last of kind ``end``; a character that starts no token is a FilterError."""
    tokens: list[Token] = []
    position, end = 0, len(expression.rstrip())
    while position < end:
        match = _TOKEN.match(expression, position, end)
        if match is None or match.lastgroup is None:
            raise mistake(expression, position, f"cannot read {expression[position]!r}")
        kind, text = match.lastgroup, match[0]
        if kind == "number" and not _NUMBER.fullmatch(text):
            raise mistake(expression, position, f"cannot read {text[:40]!r} as a number")
        if kind == "name" and text.lower() in WORDS:
            kind, text = "word", text.lower()
        if kind != "space":
            tokens.append(Token(kind, text, position))
        position = match.end()
    return [*tokens, Token("end", "", end)]


def mistake(expression: str, position: int, what: str) -> FilterError:
    """The error for a mistake at a character."""
    shown = expression if len(expression) <= 80 else expression[:77] + "..."
    return FilterError(f"the filter {shown!r} has a mistake at character {position + 1}: {what}", position)

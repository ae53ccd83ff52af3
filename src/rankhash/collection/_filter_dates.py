"""Dates in filters: a day, minute or second matches all ISO 8601 texts that begin with it, which sort by time."""

from __future__ import annotations

from datetime import datetime

from ._filter_tree import Between, Compare, Filter, Not

LAST = "~"
"""Sorts after all characters that continue a date in ISO 8601, such as T, a space and digits"""


def by_date(path: str, sign: str, date: str) -> Filter:
    """A comparison of a field with the whole day, minute or second that ``date`` names.

    >>> by_date('$."t"', "<=", "2024-12-31")
    Compare(path='$."t"', operator='<=', value='2024-12-31~')
    """
    if sign in ("<", ">="):
        return Compare(path, sign, date)
    if sign in ("<=", ">"):
        return Compare(path, sign, date + LAST)
    during = Between(path, date, date + LAST)
    return Not(during) if sign in ("!=", "<>") else during


def mistake_in(date: str) -> str | None:
    """The reason why a date is invalid; None if it is valid."""
    try:
        datetime.fromisoformat(date)
    except ValueError as error:
        return str(error)
    return None

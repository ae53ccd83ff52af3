"""Options of the commands that fit a hasher, and the hasher that they describe."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import InvalidInputError
from ..hashers import HASHERS

if TYPE_CHECKING:
    from ..hashers import Hasher

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT = "JRSH"
"""The default method of all commands"""


def hasher_options(command: F) -> F:
    """The options ``--n-symbols``, ``--arity`` and ``--set``."""
    for option in (
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="NAME=VALUE",
            help="Another parameter of the method; may be repeated.",
        ),
        click.option("--arity", type=int, help="Values per symbol, 2 to 16. By default that of the method."),
        click.option("--n-symbols", type=int, help="Symbols per code. By default as many as make 64 bits."),
    ):
        command = option(command)
    return command


def make_hasher(name: str, given: dict[str, Any], settings: tuple[str, ...]) -> Hasher:
    """An unfitted hasher with those parameters of ``given`` that are not None, and with ``settings``, NAME=VALUE."""
    kind = HASHERS[name]
    known = kind().get_params()
    parameters = {key: value for key, value in given.items() if value is not None}
    for setting in settings:
        parameter, sign, value = setting.partition("=")
        if not sign:
            raise click.UsageError(f"--set takes NAME=VALUE, got {setting!r}")
        try:
            parameters[parameter] = json.loads(value)
        except ValueError:
            parameters[parameter] = value
    unknown = parameters.keys() - known.keys()
    if unknown:
        choices = ", ".join(sorted(known.keys() - {"callback"}))
        raise InvalidInputError(f"{name} has no parameter {min(unknown)!r}; its parameters are {choices}")
    return kind(**parameters)

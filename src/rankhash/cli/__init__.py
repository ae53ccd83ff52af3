"""The command line: ``rankhash VERB``, one module a verb, loaded when it is called."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import click

from ..errors import RankhashError


class Verbs(click.Group):
    """Every module of this package that does not begin with ``_`` is a verb and exports ``command``."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The verbs, in the order of the alphabet."""
        return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb of that name, imported now."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; a user's mistake becomes one line and exit code 2."""
        try:
            return super().invoke(ctx)
        except RankhashError as error:
            raise click.UsageError(str(error)) from error


@click.group(cls=Verbs)
@click.version_option(package_name="rankhash")
def main() -> None:
    """Learn compact rank-order hash codes from vectors, and search them."""

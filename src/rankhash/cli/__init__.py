"""The command line: ``rankhash VERB``, one module a verb, loaded when it is called."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import warnings
from collections.abc import Callable
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

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the verb; a user's mistake becomes one line and exit code 2."""
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning  # type: ignore[assignment]
                sys.exit(run(*args, standalone_mode=False, **extra) or 0)
        except BrokenPipeError:  # whoever read our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except click.Abort:
            click.echo("Stopped.", err=True)
            sys.exit(1)
        except (click.ClickException, RankhashError, OSError) as error:
            click.echo(f"Error: {_one_line(error)}", err=True)
            sys.exit(error.exit_code if isinstance(error, click.ClickException) else 2)


def _show_warning(message: Warning | str, *_: Any) -> None:
    click.echo(f"Warning: {' '.join(str(message).split())}", err=True)


def _one_line(error: Exception) -> str:
    if type(error).__name__ == "NoArgsIsHelpError":
        return "which verb? rankhash --help lists them."
    text = error.format_message() if isinstance(error, click.ClickException) else str(error)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        text += f" See {error.ctx.command_path} --help."
    return " ".join(text.split())


@click.group(cls=Verbs)
@click.version_option(package_name="rankhash")
def main() -> None:
    """Learn compact rank-order hash codes from vectors, and search them."""

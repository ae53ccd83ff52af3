"""The command line: ``rankhash VERB``, one module per verb, imported when the verb is called."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import click

from ..errors import RankhashError, TakenIdError

VERBS = {
    "demo": "Show all of it with handwritten digits.",
    "create": "Create a collection.",
    "add": "Add items to a collection.",
    "search": "Find the nearest items.",
    "delete": "Delete items from a collection.",
    "dedup": "Find near-duplicates; list, move or delete them.",
    "serve": "Answer searches over HTTP, with a page for browsing.",
    "info": "Describe a file.",
    "check": "Verify a collection.",
    "index": "Index a metadata field, for fast filters.",
    "compact": "Free the space of deleted items.",
    "rehash": "Encode all items anew, with another or a newly learned hasher.",
    "export": "Write items for other programs.",
    "fit": "Learn a hasher from vectors.",
    "encode": "Encode vectors.",
    "compare": "Compare methods on your own vectors, and recommend one.",
    "evaluate": "Measure the quality of codes on your own vectors.",
    "reproduce": "Repeat the paper's experiments, with a report.",
    "bench": "Measure search times on this machine.",
}
"""The verbs in the order of the help, with their summaries, so that the help imports no module of a verb."""


class Verbs(click.Group):
    """Every verb is a module of this package that exports ``command``; it is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The verbs in the order of the help."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The verb of that name, imported now."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb of the arguments; for one that is not there, the error names the most similar one."""
        if args[0] not in VERBS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], VERBS, 1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise click.UsageError(f"No such command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the verbs and their summaries."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the verb; an expected error becomes one line on standard error and the exit code 2."""
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning  # type: ignore[assignment]
                sys.exit(run(*args, standalone_mode=False, **extra) or 0)
        except BrokenPipeError:  # the reader of our output has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except click.Abort:
            click.echo("Stopped.", err=True)
            sys.exit(130)
        except (click.ClickException, RankhashError, OSError) as error:
            click.echo(f"Error: {_one_line(error)}", err=True)
            sys.exit(error.exit_code if isinstance(error, click.ClickException) else 2)


def _show_warning(message: Warning | str, *_: Any) -> None:
    click.echo(f"Warning: {' '.join(str(message).split())}", err=True)


def _one_line(error: Exception) -> str:
    if type(error).__name__ == "NoArgsIsHelpError":
        return "a verb is missing; rankhash --help lists all verbs."
    text = error.format_message() if isinstance(error, click.ClickException) else str(error)
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        text = f"there is no file {os.fsdecode(error.filename)}"
    if isinstance(error, TakenIdError):
        text = text.replace("upsert replaces items", "--replace replaces items")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        text += f" See {error.ctx.command_path} --help."
    return " ".join(text.split())


@click.group(cls=Verbs, invoke_without_command=True)
@click.version_option(package_name="rankhash")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Learn compact rank-order hash codes from vectors, and search them."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())

"""Write what ``--help`` says into the pages of the verbs in docs/cli: ``python tools/cli_pages.py [--check]``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from rankhash.cli import main

PAGES = Path(__file__).parent.parent / "docs" / "cli"
BLOCK = re.compile(r"(<!-- help -->\n).*?(<!-- /help -->)", re.DOTALL)


def verbs() -> dict[str, click.Command]:
    """Every verb by name."""
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def help_of(name: str, command: click.Command) -> str:
    """What ``rankhash NAME --help`` prints."""
    context = click.Context(command, info_name=f"rankhash {name}", max_content_width=100, terminal_width=100)
    return command.get_help(context).rstrip()


def _escaped(text: str) -> str:
    """The text as a pattern of `re.sub` that stands for itself."""
    return text.replace("\\", r"\\")


def stale_pages(*, write: bool) -> list[str]:
    """The pages whose help is not that of the verb, or that are missing; ``write`` brings them up to date."""
    stale = []
    for name, command in verbs().items():
        page = PAGES / f"{name}.md"
        text = page.read_text(encoding="utf-8") if page.exists() else ""
        shown = f"```text\n{help_of(name, command)}\n```\n"
        new = BLOCK.sub(rf"\g<1>{_escaped(shown)}\g<2>", text)
        if new != text or not BLOCK.search(text):
            stale.append(page.name)
            if write and BLOCK.search(text):
                page.write_text(new, encoding="utf-8")
    return stale


if __name__ == "__main__":
    check = "--check" in sys.argv
    found = stale_pages(write=not check)
    print(f"{'stale' if check else 'written'}: {', '.join(found) or 'none'}")
    sys.exit(1 if check and found else 0)

"""``rankhash serve``: collections over HTTP, and a page to look at them."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Any

import click

from ..collection import Collection
from . import _common

TOKEN = "RANKHASH_TOKEN"


@click.command(
    epilog=_common.examples(
        "rankhash serve items.rankhash",
        "rankhash serve items.rankhash words.rankhash --port 9000",
        "rankhash serve items.rankhash --writable --token-file token.txt",
        "rankhash serve items.rankhash --host 0.0.0.0 --token-file token.txt",
    )
)
@click.argument("collections", nargs=-1, required=True, type=_common.existing)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--writable", is_flag=True, help="Let clients with the token add, replace and delete items.")
@click.option(
    "--token-file",
    type=_common.existing,
    help=f"A file with the token that clients must send; or the environment variable {TOKEN}.",
)
@click.option(
    "--images",
    type=click.Path(exists=True, file_okay=False),
    help="A folder with pictures; items name theirs in their metadata as image.",
)
@click.option(
    "--text-encoder",
    metavar="MODULE:FUNCTION",
    help="A function that turns a list of texts into vectors, so that text can be searched for.",
)
@click.option(
    "--index",
    type=click.Choice(["tables", "flat"]),
    default="tables",
    show_default=True,
    help="How codes are kept in memory: tables are faster, flat takes less.",
)
@click.option("--threads", type=click.IntRange(1), help="Threads of one search; every core if not given.")
def command(
    collections: tuple[str, ...],
    host: str,
    port: int,
    writable: bool,
    token_file: str | None,
    images: str | None,
    text_encoder: str | None,
    index: str,
    threads: int | None,
) -> None:
    """Serve COLLECTIONS over HTTP: a JSON API under /v1, and a page at /.

    Only this machine can reach it unless --host says otherwise; other addresses, and changes, need a token.
    """
    try:
        from ..server.app import create_app
        from ..server.run import run
    except ImportError as error:
        raise click.ClickException(
            f"serving needs the extra server: pip install 'rankhash[server]' ({error})"
        ) from None
    from ..server.served import names_of
    from ..server.settings import Settings

    settings = Settings(
        host=host,
        port=port,
        writable=writable,
        token=_token(token_file),
        images=images,
        text_encoder=None if text_encoder is None else _function(text_encoder),
        n_threads=threads,
    )
    with contextlib.ExitStack() as stack:
        opened = {
            name: stack.enter_context(Collection.open(path, "rw" if writable else "r", index=index))
            for name, path in zip(names_of(collections), collections, strict=True)
        }
        app = create_app(opened, settings)
        click.echo(f"Reading {', '.join(opened)} …", err=True)
        run(app, settings, started=lambda address: click.echo(f"Serving {address} (Ctrl-C ends it)", err=True))


def _token(path: str | None) -> str | None:
    """The token of a file, or of the environment."""
    source, text = f"the environment variable {TOKEN}", os.environ.get(TOKEN, "")
    if path is not None:
        with open(path, "rb") as file:
            source, text = path, file.read(5000).decode("utf-8", "replace").strip()
    elif not text:
        return None
    if not 16 <= len(text) <= 4096 or not text.isascii() or not text.isprintable() or " " in text:
        raise click.UsageError(f"{source} must hold one token of 16 to 4096 ASCII characters without spaces.")
    return text


def _function(name: str) -> Any:
    """What ``module:function`` names; modules of the working directory are found, too."""
    module, _, function = name.partition(":")
    folder = os.getcwd()
    sys.path.insert(0, folder)
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise click.UsageError(f"--text-encoder {name} cannot be imported: {error}.") from None
    finally:
        sys.path.remove(folder)
    if not callable(found):
        raise click.UsageError(f"--text-encoder {name} is not a function.")
    return found

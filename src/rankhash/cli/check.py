"""``rankhash check``: the integrity of a collection."""

from __future__ import annotations

from dataclasses import asdict

import click

from . import _common


@click.command(epilog=_common.examples("rankhash check items.rankhash", "rankhash check items.rankhash --json"))
@click.argument("collection", type=_common.existing)
@_common.as_json_option
def command(collection: str, as_json: bool) -> int:
    """Read the whole file COLLECTION, verify every checksum, and list what is damaged.

    The exit code is 0 if the file is intact, and 1 if there are problems.
    """
    from ..collection import check_file

    report = check_file(collection)
    if as_json:
        _common.show(asdict(report), as_json=True)
        return 1 if report.problems else 0
    for problem in report.problems:
        click.echo(problem)
    verdict = f"{len(report.problems)} problems" if report.problems else "no problems"
    click.echo(f"{report.n_items} items in {report.n_chunks} chunks: {verdict}")
    return 1 if report.problems else 0

"""Commands run inside of the test process."""

from __future__ import annotations

from click.testing import CliRunner

from rankhash.cli import main


def run(*args, **options):
    return CliRunner().invoke(main, [str(arg) for arg in args], **options)


def fine(*args, **options):
    result = run(*args, **options)
    assert result.exit_code == 0, result.output
    return result.output

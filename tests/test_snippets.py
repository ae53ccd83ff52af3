"""The code on the pages runs and prints what the pages say, and the commands exist."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import click
import pytest

from rankhash.cli import main
from rankhash.datasets.known import KNOWN

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
CODE = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
"""A block of code, and the block of text right below it: what it prints"""

RUN = [page for page in PAGES if CODE.search(page.read_text()) and page.parent.name != "integrations"]
"""Pages whose code runs here; tests/integrations has those that need other libraries"""


@pytest.mark.parametrize("page", RUN, ids=lambda p: p.name)
def test_code_of_the_page_runs(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    if '"fashion_mnist"' in page.read_text() and not Path(KNOWN["fashion_mnist"].installed).is_dir():
        pytest.skip("the photographs are not installed: apt install dataset-fashion-mnist")
    if page.name == "postgres.md":
        monkeypatch.setenv("PGUSER", "postgres")
        monkeypatch.setenv("PGHOST", request.getfixturevalue("postgres").partition("host=")[2])
    names = {}
    for code, shown in CODE.findall(page.read_text()):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, str(page), "exec"), names)
        assert not shown or printed.getvalue() == shown


def test_some_output_is_compared():
    assert sum(bool(shown) for page in RUN for _, shown in CODE.findall(page.read_text())) >= 4


def commands(page):
    """The calls of ``rankhash`` in the blocks of a page that are not Python."""
    for block in re.findall(r"```(?:sh|text)\n(.*?)```", page.read_text(), re.DOTALL):
        lines = block.replace("\\\n", " ").splitlines()
        yield from (shlex.split(line, comments=True) for line in lines if line.startswith("rankhash "))


CALLS = [(page, *call) for page in PAGES for call in commands(page)]


def parse(verb, arguments):
    """Parse the arguments of a verb, without looking at the files that they name."""
    command = main.get_command(click.Context(main), verb)
    assert command is not None, verb
    command.make_parser(click.Context(command)).parse_args(list(arguments))


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call[0].stem}: {' '.join(call[2:])}")
def test_commands_of_the_pages_have_known_verbs_and_options(call):
    _, _, verb, *arguments = call
    if not verb.startswith("-"):
        parse(verb, arguments)


SOURCES = [path for path in (ROOT / "src").rglob("*.py") if path.parent.name != "integrations"]


def test_hints_of_extras_also_work_in_a_checkout():
    """Since there may be no published package."""
    hints = [
        (path.name, *found)
        for path in [*PAGES, *SOURCES]
        for found in re.findall(r"rankhash\[([\w-]+)\](.{0,50})", path.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert len(hints) > 15
    assert [hint for hint in hints if f".[{hint[1]}]" not in hint[2]] == []


def test_an_unknown_option_is_noticed():
    assert len(CALLS) > 40
    with pytest.raises(click.NoSuchOption):
        parse("search", ["items.rankhash", "queries.npy", "--with-metadatas"])

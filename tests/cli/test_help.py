"""Help and pages: complete, true, and shown without slow imports."""

from __future__ import annotations

import json
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest

import rankhash.cli
from rankhash.cli import VERBS as SHORT_HELP
from rankhash.cli import main

from .running import fine

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "cli"
VERBS = sorted(SHORT_HELP)
OF_A_COLLECTION = [
    "fit",
    "encode",
    "create",
    "add",
    "search",
    "dedup",
    "index",
    "info",
    "check",
    "delete",
    "compact",
    "export",
    "bench",
]


# -- pages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_examples_and_a_page_with_all_options(verb):
    command = main.get_command(click.Context(main), verb)
    text = fine(verb, "--help")
    assert "Examples:" in text
    page = " ".join((PAGES / f"{verb}.md").read_text(encoding="utf-8").split())
    assert page.startswith(f"# rankhash {verb} ")
    for parameter in command.params:
        names = parameter.opts if isinstance(parameter, click.Option) else [parameter.human_readable_name.upper()]
        assert all(name in page for name in names), names
        if isinstance(parameter, click.Option):
            assert " ".join((parameter.help or "").split()) in page, parameter.help
    assert " ".join((command.help or "").split()) in page


def test_the_first_page_lists_every_verb():
    listed = re.findall(r"\[(\w+)\]\(\1\.md\)", (PAGES / "commands.md").read_text(encoding="utf-8"))
    assert sorted(listed) == VERBS


def test_commands_of_the_pages_run_one_after_the_other(folder):
    items = [json.loads(line) for line in Path("items.jsonl").read_text(encoding="utf-8").splitlines()]
    numbered = [json.dumps(item | {"id": 1000 + i}) for i, item in enumerate(items)]
    Path("items.jsonl").write_text("\n".join(numbered), encoding="utf-8")
    for verb in OF_A_COLLECTION:
        (block,) = re.findall(r"```sh\n(.*?)```", (PAGES / f"{verb}.md").read_text(encoding="utf-8"), re.DOTALL)
        for line in block.splitlines():
            program, *args = shlex.split(line)
            assert program == "rankhash"
            fine(*args)


def test_the_program_is_installed_and_completes():
    program = Path(sys.executable).parent / "rankhash"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert "0.1.0" in done.stdout
    words = {"_RANKHASH_COMPLETE": "bash_complete", "COMP_WORDS": "rankhash sea", "COMP_CWORD": "1", "PATH": "/usr/bin"}
    done = subprocess.run([program], env=words, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "plain,search"


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_needs_no_verb(arguments):
    script = (
        f"import sys, rankhash.cli; sys.argv[1:] = {arguments}\n"
        "try: rankhash.cli.main()\nexcept SystemExit as end: assert not end.code, end.code\n"
        "print([m for m in sys.modules if m.startswith('rankhash.cli.') or m == 'sklearn'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    shown = " ".join(done.stdout.split())
    assert shown.endswith("[]")
    assert all(f"{verb} {short}" in shown for verb, short in SHORT_HELP.items())


def test_help_lists_every_module_that_is_a_verb():
    modules = [module.name for module in pkgutil.iter_modules(rankhash.cli.__path__)]
    assert sorted(SHORT_HELP) == sorted(name for name in modules if not name.startswith("_"))


def test_help_of_every_verb_needs_no_scikit_learn():
    """Which takes most of a second to import."""
    program = (
        "import sys; from rankhash.cli import VERBS, main\n"
        "for verb in VERBS:\n"
        "    main([verb, '--help'], standalone_mode=False)\n"
        "print(*{'sklearn', 'scipy', 'pandas', 'fastapi', 'plotly'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""
    assert done.stdout.count("Usage:") == len(VERBS)


def test_verbs_of_a_collection_without_a_hasher_need_no_scikit_learn(tmp_path):
    np.save(tmp_path / "v.npy", np.eye(4, dtype=np.float32))
    program = (
        "import sys; from rankhash.cli import main\n"
        "for words in ('create c.rankhash', 'add c.rankhash v.npy', 'info c.rankhash', 'check c.rankhash',\n"
        "              'search c.rankhash v.npy -k 2', 'search c.rankhash --like 1', 'delete c.rankhash 3'):\n"
        "    main(words.split(), standalone_mode=False)\n"
        "print(*{'sklearn', 'scipy', 'pandas', 'joblib', 'pyarrow'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


def test_names_of_methods_need_no_scikit_learn():
    program = (
        "import sys; from rankhash.hashers import HASHERS, VIEW_HASHERS\n"
        "assert 'JRSH' in HASHERS and 'LSRH' in VIEW_HASHERS and len([*HASHERS]) > 20\n"
        "print({'sklearn', 'scipy'} & {*sys.modules})\n"
        "assert HASHERS['LSH'].__name__ == 'LSH' and 'rankhash.hashers.jrsh' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_names_of_options_are_those_of_the_library():
    """They are written out on the command line, so that its help needs not import the library."""
    from rankhash.evaluation import comparison, methods, truth
    from rankhash.vector_index.numbered import METRICS

    def choices(verb, option):
        command = main.get_command(None, verb)
        return set(next(one for one in command.params if option in one.opts).type.choices)

    assert choices("create", "--metric") == {*METRICS}
    assert choices("compare", "--metric") == {*comparison.METRICS}
    assert choices("evaluate", "--metric") == {*truth.METRICS}
    assert choices("reproduce", "--axis") == {*methods.AXES, "both"}
    assert main.get_command(None, "compare") is not None
    assert sys.modules["rankhash.cli.compare"].METHODS == comparison.METHODS

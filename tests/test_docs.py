"""What the text says is true: its code runs, its commands exist, its tree and its tables are those of the project."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import rankhash

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
TEXTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"])


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda p: p.name)
def test_code_of_the_page_runs(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    if page.name == "postgres.md":
        monkeypatch.setenv("PGUSER", "postgres")
        monkeypatch.setenv("PGHOST", request.getfixturevalue("postgres").partition("host=")[2])
    names = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


def test_commands_of_the_readme_and_of_contributing_are_targets_of_make():
    makefile = (ROOT / "Makefile").read_text()
    commands = set()
    for name in ("README.md", "CONTRIBUTING.md"):
        for block in blocks(ROOT / name, "sh"):
            commands |= set(re.findall(r"^make ([a-z-]+)", block, re.MULTILINE))
    assert {"demo", "test"} <= commands
    for command in commands:
        assert re.search(rf"^{command}:.*## ", makefile, re.MULTILINE), command


def test_make_alone_gives_help():
    result = subprocess.run(["make", "-C", ROOT], capture_output=True, text=True, check=True)
    assert "make demo" in result.stdout
    assert "make test" in result.stdout


def test_continuous_integration_runs_the_readme_test_command():
    assert "\nmake test\n" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("page", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_files_of_the_drawn_tree_exist():
    tree = (ROOT / "ARCHITECTURE.md").read_text().split("## Tree")[1].split("```")[1]
    folder = None
    for drawn in tree.strip().splitlines():
        line = drawn.replace("<isa>", "*")
        names = re.findall(r"[\w./*]+\.(?:py|pyi|hpp|cpp)\b|^\s*[\w/]+/", line)
        if not line.startswith(" "):
            folder = ROOT / line.split()[0] if line.split()[0].endswith("/") else ROOT
        for name in (n.strip() for n in names):
            assert any(folder.rglob(name)) or (folder / name).exists() or (ROOT / name).exists(), name


def test_every_hasher_has_a_page():
    for name in rankhash.hashers.HASHERS:
        assert (ROOT / "docs" / "hashers" / f"{name.lower()}.md").exists(), name


def test_public_names_are_documented_and_sorted_as_listed():
    for name in rankhash.__all__:
        assert getattr(rankhash, name).__doc__, name
    assert f"## {rankhash.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_tables_are_drawn_from_the_raw_results():
    script = ROOT / "benchmarks" / "render.py"
    result = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_verdict_is_made_from_the_raw_results():
    script = ROOT / "benchmarks" / "verdict.py"
    result = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr

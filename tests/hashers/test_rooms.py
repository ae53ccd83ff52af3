"""Files and folders of ``hashers`` with an underscore are not imported from outside of it."""

import ast
from pathlib import Path

import rankhash

PACKAGE = Path(rankhash.__file__).parent


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_private_modules_of_the_hashers_stay_inside():
    outside = [path for path in PACKAGE.rglob("*.py") if "hashers" not in path.relative_to(PACKAGE).parts]
    assert len(outside) > 50
    modules = [(path.name, name) for path in outside for name in imported_modules(path) if "hashers" in name.split(".")]
    assert ("_fitting.py", "hashers.training") in modules
    assert [pair for pair in modules if any(part.startswith("_") for part in pair[1].split(".")[1:])] == []


def test_no_file_of_the_hashers_is_longer_than_300_lines():
    sizes = {path.name: len(path.read_text().splitlines()) for path in (PACKAGE / "hashers").rglob("*.py")}
    assert len(sizes) > 30
    assert {name: size for name, size in sizes.items() if size > 300} == {}

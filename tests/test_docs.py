"""What the text says is true: its links, tree, tables, defaults and reference are those of the project."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

import rankhash

ROOT = Path(__file__).parents[1]
TEXTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"])


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), re.DOTALL)


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


@pytest.mark.parametrize("page", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page):
    for name in re.findall(r"`((?:benchmarks|tests|tools|src|native|docs)/[\w./-]+)`", page.read_text()):
        assert (ROOT / name).exists(), name


def drawn_folders():
    """The parts of the drawn tree by the folders that they are about; the first is about all folders."""
    first, *parts = (ROOT / "ARCHITECTURE.md").read_text().split("## Tree")[1].split("\n## ")[0].split("\n### ")
    yield [ROOT / "src" / "rankhash", ROOT / "native", ROOT / "tests", ROOT], first
    for part in parts:
        names = re.findall(r"[\w/]+(?=/)", part.partition("\n")[0])
        yield [next(p for p in (ROOT / "src/rankhash" / name, ROOT / name) if p.is_dir()) for name in names], part


def test_files_of_the_drawn_tree_exist():
    for folders, part in drawn_folders():
        for name in re.findall(r"[\w./*]+\.(?:pyi?|[hc]pp|js|css|html)\b", part.replace("<isa>", "*")):
            assert any(any(folder.rglob(name)) for folder in folders), name


COVERED = re.compile(
    r"__init__|src/rankhash/hashers/[a-z]\w+\.py|src/rankhash/cli/[a-z]\w+\.py|routes_|native/(kernels|bindings)/|_native"
)
"""Files that the tree names together: one per hasher, verb, route, instruction set or topic"""


def test_every_file_is_drawn_in_the_part_of_its_folder():
    files = [path for folder in ("src", "native") for path in (ROOT / folder).rglob("*.*") if path.is_file()]
    left = {path for path in files if path.suffix in {".py", ".js", ".css", ".cpp", ".hpp"}}
    assert len(left) > 200
    left = {path for path in left if not COVERED.search(str(path.relative_to(ROOT)))}
    for folders, part in drawn_folders():
        about = {path for folder in folders for path in left if folder in path.parents}
        top = {path for path in about if path.parent in folders}
        left -= {path for path in (top if ROOT in folders else about) if re.search(rf"\b{path.stem}\b", part)}
    assert sorted(str(path.relative_to(ROOT)) for path in left) == ["native/check/compare.cpp"]


def test_names_in_the_things_that_bite_are_in_the_code():
    text = (ROOT / "ARCHITECTURE.md").read_text().split("## Things that bite")[1]
    files = [path for folder in ("src", "native") for path in (ROOT / folder).rglob("*.*")]
    code = " ".join(path.read_text() for path in files if path.suffix in {".py", ".cpp", ".hpp"})
    names = {name for quoted in re.findall(r"`([\w:.()]+)`", text) for name in re.findall(r"[A-Za-z_]{6,}", quoted)}
    assert len(names) > 30
    others = {"pyproject", "RowGroupMetaData"}
    assert {name for name in names if not re.search(rf"\b{name}", code)} <= others


def test_every_hasher_has_a_page():
    for name in (*rankhash.hashers.HASHERS, *rankhash.hashers.VIEW_HASHERS):
        assert (ROOT / "docs" / "hashers" / f"{name.lower()}.md").exists(), name


def test_public_names_are_documented_and_sorted_as_listed():
    for name in rankhash.__all__:
        assert getattr(rankhash, name).__doc__, name
    assert f"## {rankhash.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_tables_figures_and_verdict_are_drawn_from_the_raw_results():
    script = ROOT / "benchmarks" / "render.py"
    result = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


ROLE = re.compile(r":(?:py:)?(?:attr|class|data|exc|func|meth|mod|obj|ref|term):`")


@pytest.mark.parametrize("folder", ["src", "docs"])
def test_no_sphinx_role_is_left(folder):
    files = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".pyi", ".md", ".html", ".js")]
    assert files
    assert [str(path.relative_to(ROOT)) for path in files if ROLE.search(path.read_text(encoding="utf-8"))] == []


MODULES = [
    "rankhash",
    *(
        f"rankhash.{name}"
        for name in (
            "client",
            "collection",
            "datasets",
            "duplicates",
            "evaluation",
            "hashers",
            "index",
            "rank_neighbors",
            "readers",
            "vector_index",
        )
    ),
    *(f"rankhash.{name}" for name in ("server", "similarity", "vector_index", "engines.dask", "engines.postgres")),
]
"""The public modules: their ``__all__`` is the interface."""


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    pages = (ROOT / "docs" / "reference").glob("*.md")
    listed = {name for page in pages for name in re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE)}
    home = importlib.import_module(module)
    for name in home.__all__:
        value = getattr(home, name)
        paths = {f"{module}.{name}", f"rankhash.{name}", f"{getattr(value, '__module__', module)}.{name}"}
        assert paths & listed, f"{module}.{name} is on no page of docs/reference"


def test_public_packages_are_all_looked_at():
    packages = {path.parent for path in (ROOT / "src" / "rankhash").rglob("__init__.py")}
    public = {folder for folder in packages if not any(part.startswith("_") for part in folder.parts)}
    names = {".".join(folder.relative_to(ROOT / "src").parts) for folder in public}
    assert names - {"rankhash.cli", "rankhash.engines", "rankhash.integrations"} == set(MODULES)


def test_every_page_is_in_the_menu():
    menu = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]
    for page in (ROOT / "docs").rglob("*.md"):
        assert f": {page.relative_to(ROOT / 'docs')}\n" in menu, page.name


def test_the_site_loads_nothing_from_other_hosts():
    settings = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in settings
    (worker,) = re.findall(r"polyfills: \[(\S*iframe-worker\S*)\]", settings)  # else material takes one from a host
    for path in (ROOT / "docs" / worker, *(ROOT / "docs" / "stylesheets").iterdir()):
        assert "http" not in path.read_text()


# -- defaults of parameters --------------------------------------------------------------------------------------------


def public_callables():
    """Every public function, class and method by name: the callable and the docstring that describes its parameters."""
    found = {}
    for module in MODULES:
        home = importlib.import_module(module)
        for name in home.__all__:
            value = getattr(home, name)
            if inspect.isclass(value) and not issubclass(value, Exception):
                found[name] = value.__init__, value.__doc__
                for key, method in inspect.getmembers(value, callable):
                    if not key.startswith("_") and str(getattr(method, "__module__", "")).startswith("rankhash"):
                        found[method.__qualname__] = method, method.__doc__
            elif inspect.isroutine(value):
                found[name] = value, value.__doc__
    return found


def described_parameters(doc):
    """The descriptions in the section Parameters of a NumPy docstring, by name."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", inspect.cleandoc(doc or ""), re.M | re.S)
    entries = re.findall(r"^(\w[\w, *]*)[^\n]*\n((?:[ \n][^\n]*\n?)+)", section[1] if section else "", re.M)
    return {name.strip(" *"): text for names, text in entries for name in names.split(",")}


def names_value(text, value):
    """Whether a description names a default value."""
    if isinstance(value, str):
        return f'"{value}"' in text if value else "empty" in text
    forms = [str(value)]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        forms += [f"{value:g}", f"{value:g}".replace("e-0", "e-"), f"{value:,}", f"{value:,}".replace(",", " ")]
    return any(re.search(rf"(?<![\w.]){re.escape(form)}(?!\w|\.\d)", text) for form in forms)


CALLABLES = public_callables()


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_every_parameter_states_its_default(name):
    function, doc = CALLABLES[name]
    described, text = described_parameters(doc), inspect.cleandoc(doc or "")
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is parameter.empty:
            continue
        if parameter.name in described:
            own = described[parameter.name]
            assert "default" in own.lower(), f"{parameter.name} does not state its default"
            assert names_value(own, parameter.default), f"{parameter.name} does not name {parameter.default!r}"
        elif function.__name__ != "__init__" and not re.search(r"as in|those of|see \[", text):
            told = "default" in text and f"``{parameter.name}``" in text
            assert told or f"Without ``{parameter.name}``" in text, f"{parameter.name} is not described"


HASHERS = {**rankhash.hashers.HASHERS, **rankhash.hashers.VIEW_HASHERS}
LIKE_RSH = "all others"
"""The row of a table that refers to the parameters of RSH"""


def tabled_defaults(name):
    """The column of defaults in the table on a hasher's page, by parameter."""
    text = (ROOT / "docs" / "hashers" / f"{name.lower()}.md").read_text()
    rows = re.findall(rf"^\| (`[^|]*|{LIKE_RSH}) \|([^|]*)\|", text, re.M)
    return {parameter: cell for names, cell in rows for parameter in re.findall(rf"\b\w+(?=`)|{LIKE_RSH}", names)}


@pytest.mark.parametrize("name", HASHERS)
def test_the_page_of_a_hasher_states_every_default(name):
    stated = tabled_defaults(name)
    parameters = dict([*inspect.signature(HASHERS[name].__init__).parameters.items()][1:])
    assert not stated.keys() - parameters.keys() - {LIKE_RSH}
    assert "64 bits" in stated["n_symbols"]
    for parameter in parameters.keys() - {"n_symbols", "n_bits", "n_bytes"}:
        default = parameters[parameter].default
        if parameter not in stated:
            assert LIKE_RSH in stated, f"{parameter} is not in the table"
            assert default == inspect.signature(rankhash.RSH).parameters[parameter].default, parameter
        elif default is not None:
            assert names_value(stated[parameter], default), f"{parameter} is {default!r}"


@pytest.mark.parametrize("text", ["", "Number of rows.", "Number of rows; default 4.", "Rows; default 10.5."])
def test_a_missing_or_wrong_default_is_noticed(text):
    assert not ("default" in text and names_value(text, 10))
    assert names_value("Number of rows; default 10.", 10)
    assert described_parameters("Rows.\n\nParameters\n----------\na, b\n    Number; default 1.\n")["b"].strip()


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["flat", "lookup", "float32", "int8"])
def test_the_page_on_files_names_every_entry_of_an_index_file(kind, tmp_path):
    rng = np.random.default_rng(0)
    if kind in ("flat", "lookup"):
        layout = rankhash.CodeLayout(16, 4)
        index = rankhash.FlatIndex(layout) if kind == "flat" else rankhash.LookupIndex(layout)
        codes = layout.pack(rng.integers(0, 4, (20_000, 16)))
        index.add(codes, ids=np.arange(20_000)[::-1])
        index.remove([7])
        index.upsert(codes[:1], [9])
    else:
        index = rankhash.VectorIndex("euclidean", n_cells=8, bytes_per_vector=8, vectors=kind, verbose=False)
        X = rng.normal(size=(2000, 16))
        index.fit(X).add(X)
    index.save(tmp_path / "index.rankhash")
    with safe_open(tmp_path / "index.rankhash", "np") as file:
        arrays = {re.sub(r"(segment|table)\d+", r"\1<n>", name) for name in file.keys()}  # noqa: SIM118
        header = json.loads(file.metadata()["rankhash"])["header"]
    page = re.sub(r"<[it]>", "<n>", (ROOT / "docs" / "explain" / "files.md").read_text())
    assert not {name for name in {*arrays, *header} if f"`{name}`" not in page}

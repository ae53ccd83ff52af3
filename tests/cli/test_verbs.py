"""The command line: its pages are true, its output can be read by programs, and mistakes are one line."""

from __future__ import annotations

import io
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
from click.testing import CliRunner

import rankhash.cli
from rankhash import LSH, Collection, load_hasher
from rankhash.cli import VERBS as SHORT_HELP
from rankhash.cli import main
from rankhash.collection._read_methods import ReadMethods

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


def run(*args, **options):
    return CliRunner().invoke(main, [str(arg) for arg in args], **options)


def fine(*args, **options):
    result = run(*args, **options)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with vectors, labels, queries and items."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(120, 4)).astype(np.float32)
    np.save("vectors.npy", vectors)
    np.save("queries.npy", vectors[:3])
    np.save("labels.npy", rng.integers(0, 3, 120))
    with open("items.jsonl", "w", encoding="utf-8") as file:
        for i in range(20):
            fields = {"price": i * 5, "colour": ["red", "green", "blue"][i % 3]}
            item = {"id": f"item-{i}", "vector": rng.normal(size=4).tolist(), "metadata": fields}
            file.write(json.dumps(item) + "\n")
    return tmp_path


@pytest.fixture
def collection(folder):
    fine("fit", "vectors.npy", "--out", "h.safetensors", "--method", "lsh", "--n-symbols", 16)
    fine("create", "c.rankhash", "--hasher", "h.safetensors", "--store-vectors", "float32")
    fine("add", "c.rankhash", "items.jsonl")
    return "c.rankhash"


# -- pages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_examples_and_a_page_that_tells_all_options(verb):
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


# -- what verbs do -------------------------------------------------------------------------------------------------


def test_fit_learns_the_same_from_every_order_of_blocks(folder):
    facts = json.loads(fine("fit", "vectors.npy", "--out", "a", "--n-symbols", 8, "--labels", "labels.npy", "--json"))
    assert (facts["n_vectors"], facts["bits"], facts["method"]) == (120, 24, "JRSH")
    again = json.loads(fine("fit", "vectors.npy", "--out", "b", "--n-symbols", 8, "--labels", "labels.npy", "--json"))
    assert facts["fingerprint"] == again["fingerprint"] == load_hasher("a").fingerprint
    (folder / "labels.txt").write_text("\n".join(map(str, np.load("labels.npy"))))
    fine("fit", "vectors.npy", "--out", "c", "--n-symbols", 8, "--labels", "labels.txt")
    assert load_hasher("c").fingerprint == facts["fingerprint"]


def test_fit_samples_rows_with_their_labels(folder, monkeypatch):
    from rankhash.cli.fit import _chosen_labels, _sample
    from rankhash.readers import _base

    X = np.load("vectors.npy")
    for block in (4 * 16, 16 * 7, 1 << 20):
        monkeypatch.setattr(_base, "BLOCK_BYTES", block)
        counts = np.zeros(120)
        for seed in range(300):
            some, rows = _sample("vectors.npy", None, 20, seed)
            np.testing.assert_array_equal(some, X[rows])
            assert len(set(rows.tolist())) == 20
            counts[rows] += 1
        assert counts.min() > 20
        assert counts.max() < 90
        np.testing.assert_array_equal(_chosen_labels("labels.npy", rows), np.load("labels.npy")[rows])
    assert len(_sample("vectors.npy", None, 1000, 0)[0]) == 120


def test_fit_takes_parameters_of_the_method(folder):
    fine("fit", "vectors.npy", "--out", "h", "--method", "lsh", "--n-symbols", 4, "--set", "orthogonal=false")
    assert load_hasher("h").orthogonal is False
    result = run("fit", "vectors.npy", "--out", "h", "--method", "lsh", "--arity", 4)
    assert result.exit_code == 2
    assert "LSH has no parameter 'arity'" in result.output


def test_encode_writes_the_codes_of_the_hasher(folder, collection):
    for source in ("h.safetensors", collection):
        facts = json.loads(fine("encode", source, "vectors.npy", "--out", "codes.npy", "--json"))
        assert facts == {"path": "codes.npy", "n_codes": 120, "n_bytes": 2}
        codes = np.load("codes.npy")
        np.testing.assert_array_equal(codes, load_hasher("h.safetensors").encode(np.load("vectors.npy")))


def test_add_reads_standard_input(folder, collection):
    lines = '{"id": 5, "vector": [1, 2, 3, 4]}\n{"id": "x", "vector": [1, 2, 3, 5], "metadata": {"price": 3}}\n'
    facts = json.loads(fine("add", collection, "-", "--json", input=lines))
    assert (facts["added"], facts["n_items"]) == (2, 22)
    with Collection.open(collection) as items:
        assert items.get(["x"])[0].metadata == {"price": 3}


def test_add_is_all_or_nothing(folder, collection):
    lines = '{"id": "new", "vector": [1, 2, 3, 4]}\n{"id": "item-3", "vector": [1, 2, 3, 5]}\n'
    result = run("add", collection, "-", input=lines)
    assert result.exit_code == 2
    assert "'item-3' is already in the collection" in result.output
    assert json.loads(fine("info", collection, "--json"))["n_items"] == 20
    fine("add", collection, "-", "--replace", input=lines)
    assert json.loads(fine("info", collection, "--json"))["n_items"] == 21


def test_search_prints_lines_or_json(folder, collection):
    lines = Path("items.jsonl").read_text(encoding="utf-8").splitlines()
    np.save("one.npy", np.array([json.loads(line)["vector"] for line in lines[:2]]))
    rows = [json.loads(line) for line in fine("search", collection, "one.npy", "-k", 2, "--json").splitlines()]
    assert [row["query"] for row in rows] == [0, 1]
    assert [row["ids"][0] for row in rows] == ["item-0", "item-1"]
    assert rows[0]["distances"][0] == 0
    shown = fine("search", collection, "one.npy", "-k", 2, "--with-metadata", "--where", "price = 0")
    assert shown.split()[:6] == ["query", "distance", "id", "metadata", "0", "0"]
    assert "0  item-0  {" in shown
    assert '"price": 0' in shown
    assert len(shown.splitlines()) == 3
    (row,) = fine("search", collection, "--like", "item-0", "--rerank", 20, "--json").splitlines()
    assert "item-0" not in json.loads(row)["ids"]


def test_delete_by_ids_and_by_filter(folder, collection):
    assert json.loads(fine("delete", collection, "item-0", "item-1", "--json")) == {"deleted": 2, "n_items": 18}
    assert json.loads(fine("delete", collection, "--where", "price >= 50", "--json"))["deleted"] == 10
    for args in ((), ("item-5", "--where", "price = 1"), ("17",), ("--where", "price >")):
        result = run("delete", collection, *args)
        assert result.exit_code == 2
    assert json.loads(fine("info", collection, "--json"))["n_items"] == 8


def test_ids_are_integers_unless_told_otherwise(folder, collection):
    lines = "\n".join(json.dumps({"id": name, "vector": [1, 2, 3, 4]}) for name in (7, "7", "007"))
    fine("add", collection, "-", input=lines)
    fine("delete", collection, "7", "007")
    with Collection.open(collection) as items:
        assert [name for name in items.ids() if name in (7, "7", "007")] == ["7"]
    fine("delete", collection, "7", "--text-ids")


def test_check_reports_damage_with_exit_code_1(folder, collection):
    assert json.loads(fine("check", collection, "--json")) == {"n_items": 20, "n_chunks": 1, "problems": []}
    assert "no problems" in fine("check", collection)
    data = bytearray(Path(collection).read_bytes())
    with Collection.open(collection) as items:
        place = data.find(items.get(["item-0"])[0].code.tobytes() + items.get(["item-1"])[0].code.tobytes())
    data[place] ^= 4
    Path(collection).write_bytes(data)
    result = run("check", collection)
    assert result.exit_code == 1
    assert "does not match its checksum" in result.output
    result = run("search", collection, "queries.npy")
    assert result.exit_code == 2
    assert "damaged" in result.output


def test_compact_and_export_and_add_again(folder, collection):
    fine("delete", collection, "item-3")
    assert json.loads(fine("compact", collection, "--json"))["dropped_codes"] == 1
    for name in ("all.parquet", "all.jsonl"):
        assert json.loads(fine("export", collection, name, "--json"))["exported"] == 19
        fine("create", f"{name}.copy", "--hasher", collection)
        fine("add", f"{name}.copy", name)
        with Collection.open(collection) as items, Collection.open(f"{name}.copy") as copy:
            assert items.ids() == copy.ids()
            assert [item.metadata for item in items.get(items.ids())] == [
                item.metadata for item in copy.get(copy.ids())
            ]


# -- mistakes ------------------------------------------------------------------------------------------------------

MISTAKES = {
    "no file": (["add", "c.rankhash", "nowhere.npy"], "nowhere.npy"),
    "no collection": (["add", "nowhere", "vectors.npy"], "does not exist"),
    "not a collection": (["add", "vectors.npy", "vectors.npy"], "is not a rankhash collection"),
    "not a hasher": (["create", "new", "--hasher", "vectors.npy"], "is not a rankhash file"),
    "there already": (["create", "c.rankhash", "--hasher", "h.safetensors"], "is there already"),
    "unknown format": (["add", "c.rankhash", "x.txt"], "must be a file of vectors"),
    "filter": (["search", "c.rankhash", "queries.npy", "--where", "price <"], "character 8"),
    "wrong width": (["search", "c.rankhash", "wide.npy"], "9 features"),
    "NaN": (["add", "c.rankhash", "nan.npy"], "NaN"),
    "k": (["search", "c.rankhash", "queries.npy", "-k", "0"], "k must be"),
    "unknown option": (["search", "c.rankhash", "queries.npy", "--best"], "No such option"),
    "missing option": (["encode", "c.rankhash", "queries.npy"], "--out"),
    "both": (["search", "c.rankhash"], "either"),
    "weights": (["search", "c.rankhash", "queries.npy", "--scoring", "weighted"], "LSH"),
    "export format": (["export", "c.rankhash", "x.xlsx"], ".parquet"),
    "unknown like": (["search", "c.rankhash", "--like", "nobody"], "nobody"),
    "set": (["fit", "vectors.npy", "--out", "x", "--set", "orthogonal"], "NAME=VALUE"),
    "labels": (["fit", "vectors.npy", "--out", "x", "--labels", "short.npy"], "one label for each"),
    "encode to": (["encode", "h.safetensors", "vectors.npy", "--out", "codes.txt"], ".npy"),
    "a verb": (["nonsense"], "No such command"),
    "a verb, nearly": (["serch"], "did you mean search?"),
    "no vectors": (["add", "c.rankhash", "nothere.npy"], "there is no file nothere.npy"),
    "ids that are there": (["add", "c.rankhash", "items.jsonl"], "--replace replaces items"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_one_line_and_exit_code_2(what, folder, collection):
    np.save("wide.npy", np.ones((2, 9)))
    np.save("nan.npy", np.full((2, 4), np.nan))
    np.save("short.npy", np.zeros(3))
    args, message = MISTAKES[what]
    result = run(*args)
    assert result.exit_code == 2
    assert message in result.output
    assert result.output.startswith("Error: ")
    assert len(result.output.splitlines()) == 1
    assert json.loads(fine("info", collection, "--json"))["n_items"] == 20


def test_busy_collections_are_said_so(folder, collection):
    with Collection.open(collection, "rw") as items, items._database.connections.writing():
        result = run("add", collection, "vectors.npy", "--timeout", "0.1")
    assert result.exit_code == 2
    assert "waiting for another writer" in result.output


def test_a_progress_bar_is_drawn_on_a_terminal_only(monkeypatch):
    from rankhash.cli._common import progress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for stream, drawn in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress("adding", 10) as tell:
            tell(5)
        assert ("adding" in stream.getvalue()) == drawn


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


def test_help_tells_every_module_that_is_a_verb():
    modules = [module.name for module in pkgutil.iter_modules(rankhash.cli.__path__)]
    assert sorted(SHORT_HELP) == sorted(name for name in modules if not name.startswith("_"))


def test_ctrl_c_ends_with_130(folder, collection, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Collection, "open", stopped)
    result = run("info", collection)
    assert result.exit_code == 130
    assert "Stopped" in result.output


def test_lsh_takes_part(folder):
    """A hasher that was saved elsewhere can be used."""
    LSH(8, random_state=0).fit(np.load("vectors.npy")).save("mine")
    fine("create", "c", "--hasher", "mine")
    fine("add", "c", "vectors.npy")
    assert json.loads(fine("search", "c", "queries.npy", "--json").splitlines()[1])["ids"][0] == 1


def test_metadata_are_those_of_the_commit_that_was_searched(folder, collection, monkeypatch):
    """An item that is deleted between the search and the reading of its metadata."""
    search = ReadMethods.search

    def search_then_delete(self, *args, **options):
        found = search(self, *args, **options)
        with Collection.open(collection, "rw") as other:
            other.delete(found.ids[0, :2].tolist())
        return found

    monkeypatch.setattr(ReadMethods, "search", search_then_delete)
    np.save("one.npy", np.load("vectors.npy")[:1])
    lines = fine("search", collection, "one.npy", "-k", "3", "--with-metadata", "--json").splitlines()
    assert len(json.loads(lines[0])["metadata"]) == 3
    assert json.loads(fine("info", collection, "--json"))["n_items"] == 18


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


def test_an_unknown_id_is_answered_by_what_ids_look_like(tmp_path):
    path = str(tmp_path / "items.rankhash")
    with Collection.create(path, metric="cosine") as items:
        items.add(np.eye(3), ["17", "chair", "table"])
    found = [CliRunner().invoke(main, ["search", path, "--like", name]) for name in ("17", "18", "sofa")]
    assert [result.exit_code for result in found] == [2, 2, 2]
    assert "add --text-ids" in found[0].output
    assert all("ids are such as '17', 'chair', 'table'" in result.output for result in found[1:])
    right = CliRunner().invoke(main, ["search", path, "--like", "17", "--text-ids", "-k", "1"])
    assert right.output.split() == ["query", "distance", "id", "0", "1", "chair"]

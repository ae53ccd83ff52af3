"""Verbs of the command line: what they do and print."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np

from rankhash import LSH, Collection, load_hasher
from rankhash.collection._read_methods import ReadMethods

from .running import fine, run

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


def test_several_examples_make_one_query(folder, collection):
    likes = ("--like", "item-0", "--like", "item-4", "--unlike", "item-7")
    (row,) = fine("search", collection, *likes, "-k", 5, "--json").splitlines()
    with Collection.open(collection) as items:
        wanted = items.search(like=["item-0", "item-4"], unlike="item-7", k=5)
    assert json.loads(row)["ids"] == wanted.ids[0].tolist()
    assert not {"item-0", "item-4", "item-7"} & {*json.loads(row)["ids"]}
    assert "--unlike needs --like" in run("search", collection, "items.jsonl", "--unlike", "item-7").output
    assert "ids are such as 'item-0'" in run("search", collection, "--like", "item-0", "--unlike", "chair").output


def test_delete_by_ids_and_by_filter(folder, collection):
    assert json.loads(fine("delete", collection, "item-0", "item-1", "--json")) == {"deleted": 2, "n_items": 18}
    assert json.loads(fine("delete", collection, "--where", "price >= 50", "--json"))["deleted"] == 10
    for args in ((), ("item-5", "--where", "price = 1"), ("17",), ("--where", "price >")):
        result = run("delete", collection, *args)
        assert result.exit_code == 2
    assert json.loads(fine("info", collection, "--json"))["n_items"] == 8


def test_ids_are_integers_by_default(folder, collection):
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

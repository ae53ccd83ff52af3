"""Mistakes on the command line: one line, and exit code 2."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from rankhash import Collection
from rankhash.cli import main

from .running import fine, run

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


def test_a_busy_collection_gets_a_sentence(folder, collection):
    with Collection.open(collection, "rw") as items, items._database.connections.writing():
        result = run("add", collection, "vectors.npy", "--timeout", "0.1")
    assert result.exit_code == 2
    assert "waiting for another writer" in result.output


def test_ctrl_c_ends_with_130(folder, collection, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Collection, "open", stopped)
    result = run("info", collection)
    assert result.exit_code == 130
    assert "Stopped" in result.output


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

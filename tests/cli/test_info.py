"""``rankhash info``."""

from __future__ import annotations

import json

import numpy as np
from click.testing import CliRunner

from rankhash import LSH
from rankhash.cli import main
from rankhash.vector_index import _options


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def test_info_names_the_method_and_the_shape(tmp_path):
    path = tmp_path / "h.safetensors"
    LSH(16, random_state=0).fit(np.random.default_rng(0).normal(size=(20, 5))).save(path)
    facts = json.loads(run("info", path, "--json").output)
    assert facts == {"kind": "LSH", "n_symbols": 16, "arity": 2, "bits": 16, "n_features": 5}
    assert "LSH" in run("info", path).output


def test_info_of_a_collection_without_a_hasher_tells_nothing_of_codes(tmp_path, monkeypatch):
    monkeypatch.setattr(_options, "EXACT_NUMBERS", 1000)
    np.save(tmp_path / "v.npy", np.random.default_rng(0).normal(size=(2000, 4)).astype(np.float32))
    path = tmp_path / "items.rankhash"
    made = run("create", path, "--metric", "euclidean").output
    assert [line.split()[0] for line in made.splitlines()] == ["path", "metric", "store_vectors"]
    assert " exact\n" in run("info", path).output
    run("add", path, tmp_path / "v.npy")
    facts = dict(line.split(maxsplit=1) for line in run("info", path).output.splitlines())
    assert not facts.keys() & {"hasher", "fingerprint", "n_symbols", "arity", "bits"}
    assert (facts["n_items"], facts["n_learned"], facts["index"].split()[1]) == ("2000", "2000", "cells")
    assert json.loads(run("info", path, "--json").output)["hasher"] is None


def test_a_foreign_file_is_one_line_and_exit_code_2(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("not a hasher")
    result = run("info", path)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_an_unknown_verb_is_a_users_mistake():
    assert run("nonsense").exit_code == 2

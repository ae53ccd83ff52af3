"""``rankhash info``."""

from __future__ import annotations

import json

import numpy as np
from click.testing import CliRunner

from rankhash import LSH
from rankhash.cli import main


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def test_info_names_the_method_and_the_shape(tmp_path):
    path = tmp_path / "h.safetensors"
    LSH(16, random_state=0).fit(np.random.default_rng(0).normal(size=(20, 5))).save(path)
    facts = json.loads(run("info", path, "--json").output)
    assert facts == {"kind": "LSH", "n_symbols": 16, "arity": 2, "bits": 16, "n_features": 5}
    assert "LSH" in run("info", path).output


def test_a_foreign_file_is_one_line_and_exit_code_2(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("not a hasher")
    result = run("info", path)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_an_unknown_verb_is_a_users_mistake():
    assert run("nonsense").exit_code == 2

"""``--view`` of add, search and encode: a collection of pictures that texts find."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from rankhash import CCAITQ, ITQ, Collection
from rankhash.cli import main


@pytest.fixture
def items(tmp_path):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(60, 4))
    parts = {"picture": latent @ rng.normal(size=(4, 7)), "text": latent @ rng.normal(size=(4, 5))}
    for name, part in parts.items():
        np.save(tmp_path / f"{name}.npy", part.astype(np.float32))
    Collection.create(tmp_path / "items.rankhash", CCAITQ(n_bits=16, random_state=0).fit(parts)).close()
    return tmp_path


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def test_items_are_added_and_searched_by_view(items):
    file = items / "items.rankhash"
    assert run("add", file, items / "picture.npy").exit_code == 0
    assert run("add", file, items / "text.npy", "--view", "text").exit_code == 0
    found = run("search", file, items / "text.npy", "--view", "text", "-k", 3, "--json")
    assert found.exit_code == 0, found.output
    with Collection.open(file) as collection:
        wanted = collection.search(np.load(items / "text.npy"), 3, view="text").ids.tolist()
        assert len(collection) == 120
    assert [json.loads(line)["ids"] for line in found.output.splitlines()] == wanted


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("text.npy", "--view", "sound"), "one of 'picture', 'text', got 'sound'"),
        (("picture.npy", "--view", "text"), "7"),
        (("--like", "0", "--view", "text"), "--view is the view of QUERIES"),
    ],
)
def test_wrong_views_are_one_sentence(items, args, sentence):
    file = items / "items.rankhash"
    run("add", file, items / "picture.npy")
    given = [items / arg if arg.endswith(".npy") else arg for arg in args]
    done = run("search", file, *given)
    assert done.exit_code == 2
    assert sentence in done.output


def test_vectors_of_a_view_are_encoded(items):
    file, out = items / "items.rankhash", items / "codes.npy"
    assert run("encode", file, items / "text.npy", "--out", out, "--view", "text").exit_code == 0
    with Collection.open(file) as collection:
        wanted = collection.hasher.encode(np.load(items / "text.npy"), view="text")
    np.testing.assert_array_equal(np.load(out), wanted)


def test_a_hasher_of_one_view_has_no_view_to_encode(items):
    hasher = ITQ(4, random_state=0).fit(np.load(items / "text.npy"))
    hasher.save(items / "itq.safetensors")
    done = run("encode", items / "itq.safetensors", items / "text.npy", "--out", items / "c.npy", "--view", "text")
    assert done.exit_code == 2
    assert "ITQ has no views; leave out --view." in done.output


def test_info_lists_the_views(items):
    with Collection.open(items / "items.rankhash") as collection:
        collection.hasher.save(items / "hasher.safetensors")
    for file in ("items.rankhash", "hasher.safetensors"):
        assert json.loads(run("info", items / file, "--json").output)["views"] == {"picture": 7, "text": 5}
        assert "picture 7, text 5" in run("info", items / file).output

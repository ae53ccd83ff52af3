"""Near-copies among texts: shingles and similarities against sets of strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from rankhash import CodeLayout, InvalidInputError, InvalidTypeError, near_texts
from rankhash.duplicates import _shingles, texts

SENTENCES = st.lists(st.text("abcAB .\n\u00e9\U0001f600", max_size=20), max_size=12)


@given(SENTENCES, st.sampled_from(["character", "word"]), st.integers(1, 5))
def test_sets_are_those_of_strings(lines, unit, size):
    sets = _shingles.shingle_sets(lines, unit, size)
    expected = [oracles.shingles(line, unit, size) for line in lines]
    assert sets.sizes().tolist() == [len(one) for one in expected]
    for i in range(len(lines)):
        for j in range(i):
            both = np.intersect1d(*(sets.members[sets.offsets[k] : sets.offsets[k + 1]] for k in (i, j)))
            assert len(both) == len(expected[i] & expected[j])


def test_sets_do_not_depend_on_chunks(monkeypatch):
    lines = [f"text number {i} of a few" * (i % 3) for i in range(50)]
    whole = _shingles.shingle_sets(lines, "character", 5)
    monkeypatch.setattr(_shingles, "_CHUNK_TEXTS", 7)
    monkeypatch.setattr(_shingles, "_CHUNK_CHARACTERS", 40)
    for one, other in zip(whole, _shingles.shingle_sets(iter(lines), "character", 5), strict=True):
        np.testing.assert_array_equal(one, other)


def corpus(seed, n, n_copies):
    """Texts of random words; the last ones are copies with a few words changed."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("abcdefghij"), rng.integers(2, 9))) for _ in range(800)]
    lines = [list(rng.choice(words, rng.integers(20, 60))) for _ in range(n)]
    for line in lines[:n_copies]:
        copy = list(line)
        for place in rng.integers(0, len(copy), rng.integers(0, 5)):
            copy[place] = "".join(rng.choice(list("klmnop"), 5))
        lines.append(copy)
    return [" ".join(line) for line in lines]


@pytest.mark.parametrize(("unit", "threshold"), [("character", 0.8), ("word", 0.5)])
def test_pairs_are_those_of_brute_force_but_a_few(unit, threshold, monkeypatch):
    monkeypatch.setattr(texts, "_MEMBERS_TOGETHER", 5000)
    lines = [*corpus(0, 400, 200), "", " \n", "x", "X "]
    expected = oracles.near_texts(lines, unit, texts.SIZES[unit], threshold)
    found = near_texts(lines, threshold, unit=unit)
    pairs = dict(zip(zip(found.first.tolist(), found.second.tolist(), strict=True), found.distances, strict=True))
    assert list(pairs) == sorted(pairs)
    assert len(expected) > 100
    assert len(pairs) >= 0.97 * len(expected)
    assert (602, 603) in pairs or unit == "word"
    for pair, distance in pairs.items():
        assert distance == np.float32(1 - expected[pair])


def test_symbols_agree_as_often_as_minhash_promises():
    lines = corpus(1, 300, 300)
    sets = _shingles.shingle_sets(lines, "character", 5)
    layout = CodeLayout(256, 16)
    symbols = layout.unpack(texts.minhash_codes(sets, layout, 3))
    agree = (symbols[:300] == symbols[300:]).mean(axis=1)
    exact = texts._jaccard(sets, np.arange(300), np.arange(300, 600))
    assert abs((agree - 1 / 16 - 15 / 16 * exact).mean()) < 0.01
    assert np.abs(agree - 1 / 16 - 15 / 16 * exact).max() < 0.2


def test_the_radius_holds_the_recall():
    assert texts.code_radius(64, 1.0, 0.99) == 0
    rng = np.random.default_rng(0)
    differing = rng.binomial(64, 15 / 16 * 0.2, 100_000)
    radius = texts.code_radius(64, 0.8, 0.99)
    assert (differing <= radius).mean() >= 0.988
    assert (differing <= radius - 1).mean() < 0.99


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": 1.5}, "threshold must be a number from 0 to 1"),
        ({"unit": "line"}, "unit must be 'character' or 'word'"),
        ({"size": 0}, "size must be an integer from 1 to 64"),
        ({"recall": 1}, "recall must be a number between 0 and 1"),
        ({"n_symbols": 0}, "n_symbols must be an integer from 1 to 1024"),
    ],
)
def test_bad_parameters_get_one_sentence(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        near_texts(["a", "b"], **arguments)


def test_texts_must_be_strings():
    with pytest.raises(InvalidTypeError, match="texts must be strings, but text 1 is NoneType"):
        near_texts(["a", None])

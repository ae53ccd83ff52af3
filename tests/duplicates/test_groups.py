"""Groups of duplicates: components and complete linkage against slow twins, and what is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from rankhash import CodeLayout, FlatIndex, InvalidInputError, Pairs, duplicate_groups, near_pairs


def drawn(seed, n):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (n // 4 + 1, 3), dtype=np.uint8)[rng.integers(0, n // 4 + 1, n)]
    bits = np.unpackbits(codes, axis=1) ^ (rng.random((n, 24)) < 0.06)
    return np.packbits(bits, axis=1), oracles.hamming(bits, bits)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 40), radius=st.integers(0, 5))
def test_groups_are_those_of_slow_twins(seed, n, radius):
    codes, distances = drawn(seed, n)
    found = near_pairs(codes, radius)
    pairs = found.to_arrays()
    components = [group.tolist() for group in duplicate_groups(found.batches(3)).groups]
    assert components == oracles.components(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    complete = [group.tolist() for group in duplicate_groups(pairs, link="complete").groups]
    assert complete == oracles.complete_linkage(distances, radius)
    assert [group.tolist() for group in duplicate_groups(codes, radius).groups] == components
    assert [group.tolist() for group in duplicate_groups(codes, radius, link="complete").groups] == complete


def test_many_exact_copies_are_one_code_among_others():
    codes = np.random.default_rng(0).integers(0, 256, (60_000, 9), dtype=np.uint8)
    codes[10_000:50_000] = codes[7]  # 8·10⁸ pairs
    codes[55_000] = codes[7] ^ np.eye(9, dtype=np.uint8)[0]
    groups = duplicate_groups(codes, 1, max_pairs=1000)
    assert groups.groups[0].tolist() == [7, *range(10_000, 50_000), 55_000]
    assert len(groups) == 1
    assert groups.keep.tolist() == [7]


def test_groups_of_an_index_have_its_ids():
    layout = CodeLayout(24, 2)
    codes, distances = drawn(1, 30)
    index = FlatIndex(layout)
    index.add(codes, np.arange(30)[::-1] * 10)
    found = [group.tolist() for group in duplicate_groups(index, 2, weights=np.full(24, 0.5)).groups]
    first, second, _ = oracles.near_pairs(distances[::-1, ::-1], 4, same=True)
    assert found == oracles.components(zip((10 * first).tolist(), (10 * second).tolist(), strict=True))
    assert len(found) > 1


def pairs_of(*pairs):
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    return Pairs(first, second, np.ones(len(pairs), np.float32))


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ("first", [2, 5]),
        ("last", [9, 7]),
        (np.array([0, 0, 1, 0, 0, 8, 0, 8, 0, 1]), [2, 5]),
        (lambda ids: ids[1], [4, 7]),
    ],
)
def test_one_of_each_group_is_kept(keep, kept):
    groups = duplicate_groups([pairs_of((5, 7)), pairs_of((4, 9)), pairs_of((2, 4))], keep=keep)
    assert [group.tolist() for group in groups.groups] == [[2, 4, 9], [5, 7]]
    assert groups.keep.tolist() == kept
    assert groups.drop.tolist() == sorted({2, 4, 9, 5, 7} - {*kept})
    assert groups.labels([9, 3, 7, 100]).tolist() == [0, -1, 1, -1]


def test_no_pairs_give_no_groups():
    for link in ("single", "complete"):
        groups = duplicate_groups(pairs_of(), link=link)
        assert len(groups) == len(groups.drop) == 0
        assert groups.labels([1, 2]).tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"link": "average"}, "link must be 'single' or 'complete'"),
        ({"keep": "best"}, "keep must be 'first' or 'last'"),
        ({"keep": [1.0, 2.0]}, "must have a value for every id, but has 2 and there is id 9"),
        ({"keep": [["a"]]}, "must be a word, numbers by id or a function"),
        ({"keep": lambda ids: int(ids[0]) + 75}, "must return one of the ids of a group, got 77"),
        ({"keep": lambda ids: ids}, "must return one of the ids of a group"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        duplicate_groups(pairs_of((2, 4), (4, 9)), **arguments)

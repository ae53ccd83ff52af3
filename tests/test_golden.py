"""Files of every version that was ever written can still be opened and mean the same.

A file ``<what>-<version>`` is never changed or removed; a new version of the format adds files of its own. Where a
method was changed on purpose, a later ``codes-<version>`` holds its new codes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from golden import codes
from rankhash import CodeLayout, Collection, FlatIndex, LookupIndex, cpu_info, load_hasher, open_index

GOLDEN = Path(__file__).parent / "golden"
VECTORS = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
SYMBOLS = np.arange(120).reshape(20, 6) * 7 // 5 % 3


def test_index_of_version_1_holds_its_codes():
    for mmap in (False, True):
        index = FlatIndex.load(GOLDEN / "flat-1.rankhash", mmap=mmap)
        assert index.layout == CodeLayout(6, 3, "golden")
        expected = dict(zip(range(57, -3, -3), SYMBOLS.tolist(), strict=True)) | {
            7: SYMBOLS[0].tolist(),
            1: SYMBOLS[1].tolist(),
        }
        del expected[0], expected[9]
        assert index.ids.tolist() == sorted(expected)
        codes = index.layout.unpack(index.get(index.ids))
        assert codes.tolist() == [expected[i] for i in sorted(expected)]


def test_tables_of_version_1_hold_their_codes_and_find_them():
    rng = np.random.default_rng(0)
    symbols = rng.integers(0, 3, (4, 6))[rng.integers(0, 4, 700)]
    symbols[::5, 2] = 1
    symbols[7] = 2
    for mmap in (False, True):
        index = open_index(GOLDEN / "tables-1.rankhash", mmap=mmap)
        assert isinstance(index, LookupIndex)
        assert index.layout == CodeLayout(6, 3, "golden")
        assert index.n_tables == 2
        assert index._store.changed.tolist() == [7]
        assert index.ids.tolist() == [i for i in range(700) if i != 9]
        assert index.layout.unpack(index.get(index.ids)).tolist() == symbols[index.ids].tolist()
        index._store.radius_try = lambda _: 1e15  # through the tables, however few codes there are
        near = index.search_radius(index.get([8]), 0)
        equal = np.flatnonzero((symbols == symbols[8]).all(axis=1))
        assert near.ids.tolist() == [i for i in equal if i != 9]


def test_collection_of_version_1_holds_its_items(tmp_path):
    path = tmp_path / "x.rankhash"
    shutil.copy(GOLDEN / "collection-1.rankhash", path)
    with Collection.open(path) as collection:
        assert collection.check().problems == ()
        expected = [0, 2, 3, 4, *(f"n{i}" for i in range(5, 12)), 100, 12, "ç", "n5 again"]
        expected.remove("n5")
        assert collection.ids() == expected
        assert collection.hasher.fingerprint == load_hasher(GOLDEN / "lsh-1.safetensors").fingerprint
        assert [item.metadata for item in collection.get(["n6", 100, "ç", 0])] == [
            {"i": 6, "tag": "even"},
            None,
            {"deep": {"er": [1, None, True]}},
            None,
        ]
        np.testing.assert_array_equal(collection.get(["n8"])[0].vector, VECTORS[8].astype(np.float16))
        np.testing.assert_array_equal(collection.get([4])[0].code, collection.hasher.encode(VECTORS[4:5])[0])
        assert collection.count("tag = 'even' and i > 6") == 2
        assert collection.stats().indexed_fields == ("tag",)
        assert collection.search(VECTORS[8:9], 1).ids[0, 0] == "n8"
    with Collection.open(path, "rw") as collection:
        assert collection.add(VECTORS[:1]) == [101]
        collection.compact()
        assert collection.check().problems == ()


@pytest.mark.parametrize("name", ["collection-2", "vectors-2"])
def test_collections_of_version_2_hold_their_items(tmp_path, name):
    path = tmp_path / "x.rankhash"
    shutil.copy(GOLDEN / f"{name}.rankhash", path)
    with Collection.open(path, "rw") as collection:
        assert collection.check().problems == ()
        assert collection.ids() == [0, 2, 3, 4, *(f"n{i}" for i in range(6, 12)), "ç", "n5"]
        assert (collection.hasher is None) == (name == "vectors-2")
        assert collection.stats().n_learned == (11 if collection.hasher is None else None)
        assert (collection.metric, collection.store_vectors) == ("euclidean", "float16")
        assert collection["ç"].metadata == {"deep": {"er": [1, None, True]}}
        np.testing.assert_array_equal(collection["n8"].vector, VECTORS[8].astype(np.float16))
        assert collection.search(VECTORS[2:13], 1).ids[:, 0].tolist() == [
            2,
            3,
            4,
            *(f"n{i}" for i in range(5, 12)),
            "ç",
        ]
        assert collection.count("tag = 'even' and i > 6") == 2
        collection.add(VECTORS[:1], ["more"])
        collection.compact()
        assert collection.check().problems == ()


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("lsh-1", [[136, 11], [204, 14], [74, 5], [51, 1]]),
        ("wta-1", [[148, 1], [74, 1], [74, 6], [36, 8]]),
        ("jrsh-1", [[33], [160], [83], [97]]),
        ("reconstruction-1", [[250], [75], [86], [98]]),
        ("refined-1", [[242], [67], [87], [83]]),
    ],
)
def test_hashers_of_version_1_make_the_same_codes(name, first):
    hasher = load_hasher(GOLDEN / f"{name}.safetensors")
    assert hasher.encode(VECTORS)[:4].tolist() == first


def test_fits_give_the_same_codes_as_before(tmp_path):
    kept: dict[str, np.ndarray] = {}
    files = sorted(GOLDEN.glob("codes-*.npz"), key=lambda path: int(path.stem.removeprefix("codes-")))
    for path in files:  # a later file replaces codes that changed on purpose
        kept |= dict(np.load(path))
    libraries = json.loads(kept["facts"].tobytes())
    present = {name: version(name) for name in libraries}
    if present != libraries or "avx2" not in cpu_info().available:
        pytest.skip(f"codes were made on AVX2 with {libraries}, here are {present} and {cpu_info().available}")
    made = tmp_path / "codes.npz"
    environment = os.environ | codes.ENVIRONMENT
    subprocess.run([sys.executable, codes.__file__, made], check=True, env=environment, timeout=300)
    fresh = np.load(made)
    assert set(fresh.files) == set(kept)
    assert [case for case in kept if not np.array_equal(fresh[case], kept[case])] == []

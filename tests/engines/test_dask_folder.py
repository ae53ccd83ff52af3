"""A DaskIndex in a folder: written whole or not at all, and checked when it is opened."""

from __future__ import annotations

import shutil

import dask.array as da
import numpy as np
import pytest

from index.model import assert_same, draw
from rankhash import CodeLayout, FileFormatError, FlatIndex, InvalidInputError, LayoutMismatchError, open_index
from rankhash.engines.dask import DaskIndex
from rankhash.engines.dask import _folder as module

LAYOUT = CodeLayout(32, 4, "0123456789abcdef")


def made(rng, client, n=500, ids=None, layout=LAYOUT):
    codes = layout.pack(draw(rng, layout, n))
    flat = FlatIndex(layout)
    flat.add(codes, ids)
    return DaskIndex.from_array(da.from_array(codes, chunks=(200, -1)), layout, ids=ids, client=client), flat


@pytest.fixture
def saved(rng, client, tmp_path):
    index, _ = made(rng, client)
    index.save(tmp_path / "index")
    return tmp_path / "index"


def shards(folder):
    return sorted(path for path in folder.iterdir() if path.name != module.MANIFEST)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("mmap", [False, True])
def test_an_opened_index_answers_alike(client, rng, tmp_path, given, mmap):
    index, flat = made(rng, client, ids=rng.permutation(9000)[:500] if given else None)
    index.save(tmp_path / "deep" / "index")
    again = DaskIndex.open(tmp_path / "deep" / "index", layout=LAYOUT, mmap=mmap, verify=not mmap, client=client)
    queries = LAYOUT.pack(draw(rng, LAYOUT, 7))
    assert (len(again), again.layout, again.n_shards) == (500, LAYOUT, 3)
    assert_same(again.search(queries, 40), flat.search(queries, 40))
    again.save(tmp_path / "copy")
    assert_same(DaskIndex.open(tmp_path / "copy", client=client).search(queries, 40), flat.search(queries, 40))


def test_every_shard_is_an_index_file_of_its_own(saved):
    assert [len(open_index(path)) for path in shards(saved)] == [200, 200, 100]


def test_saving_again_replaces_the_old_shards_and_leaves_other_files_alone(rng, client, saved):
    (saved / "notes.txt").write_text("mine")
    before = {path.name for path in shards(saved)}
    index, flat = made(rng, client, n=300)
    index.save(saved)
    assert (saved / "notes.txt").exists()
    assert not before & {path.name for path in shards(saved) if path.suffix != ".txt"}
    queries = LAYOUT.pack(draw(rng, LAYOUT, 3))
    assert_same(DaskIndex.open(saved, client=client).search(queries, 9), flat.search(queries, 9))


def test_a_save_that_fails_leaves_what_was_there(rng, client, saved, monkeypatch):
    before = sorted(path.name for path in saved.iterdir())

    def fail(*arguments):
        raise OSError("the disk is full")

    monkeypatch.setattr("rankhash.engines.dask._sharded.write_manifest", fail)
    with pytest.raises(OSError, match="full"):
        made(rng, client)[0].save(saved)
    assert sorted(path.name for path in saved.iterdir()) == before
    assert len(DaskIndex.open(saved, client=client)) == 500


def test_saving_over_its_own_files_is_refused(client, saved):
    with pytest.raises(InvalidInputError, match="save it elsewhere"):
        DaskIndex.open(saved, client=client).save(saved)


def test_another_hasher_or_a_foreign_shard_is_refused(rng, client, saved, tmp_path):
    with pytest.raises(LayoutMismatchError, match="was expected"):
        DaskIndex.open(saved, layout=CodeLayout(32, 4, "other"), client=client)
    other, _ = made(rng, client, layout=CodeLayout(16, 4))
    other.save(tmp_path / "other")
    shutil.copy(shards(tmp_path / "other")[0], shards(saved)[1])
    with pytest.raises(LayoutMismatchError, match="16 symbols of arity 4"):
        DaskIndex.open(saved, client=client)
    same_shape, _ = made(np.random.default_rng(5), client)
    same_shape.save(tmp_path / "third")
    shutil.copy(shards(tmp_path / "third")[0], shards(saved)[1])
    with pytest.raises(FileFormatError, match="not the shard"):
        DaskIndex.open(saved, client=client)


def test_damage_is_noticed(client, saved):
    first, second, _ = shards(saved)
    content = second.read_bytes()
    second.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(FileFormatError, match="checksum"):
        DaskIndex.open(saved, client=client)
    second.write_bytes(content[:-100])
    with pytest.raises(FileFormatError, match="cut off"):
        DaskIndex.open(saved, client=client)
    second.unlink()
    with pytest.raises(FileNotFoundError, match="all workers share"):
        DaskIndex.open(saved, client=client)
    second.write_bytes(content)
    assert len(DaskIndex.open(saved, client=client)) == 500
    shutil.copy(first, saved / module.MANIFEST)
    with pytest.raises(FileFormatError, match="shards was expected"):
        DaskIndex.open(saved, client=client)
    (saved / module.MANIFEST).unlink()
    with pytest.raises(FileNotFoundError, match="does not hold a saved DaskIndex or"):
        DaskIndex.open(saved, client=client)


@pytest.mark.parametrize("change", [{"version": "../../etc/passwd"}, {"version": 7}, {"has_ids": 1}, {"layout": {}}])
def test_manifests_that_contradict_themselves_are_refused(client, saved, change):
    header, arrays = module._files.read_file(saved / module.MANIFEST, module.KIND)
    module._files.write_file(saved / module.MANIFEST, arrays, header | change, module.KIND)
    with pytest.raises(FileFormatError, match="is inconsistent"):
        DaskIndex.open(saved, client=client)


@pytest.mark.parametrize("change", [{"sizes": np.array([1.0])}, {"heads": np.zeros((2, 32), np.uint8)}])
def test_manifests_with_wrong_arrays_are_refused(client, saved, change):
    header, arrays = module._files.read_file(saved / module.MANIFEST, module.KIND)
    module._files.write_file(saved / module.MANIFEST, arrays | change, header, module.KIND)
    with pytest.raises(FileFormatError, match="is inconsistent"):
        DaskIndex.open(saved, client=client)

"""After a kill every acknowledged change is there, and no change in part; also full disks and read-only files."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rankhash import Collection, StorageError
from systems import kill


def test_nothing_is_lost_when_the_writer_is_killed(tmp_path):
    result = kill.kill_often(30, seed=int(os.environ.get("RANKHASH_KILL_SEED", "1")), folder=str(tmp_path))
    assert result["failures"] == []
    assert result["kills"] == 30
    assert result["changes"]["acknowledged"] >= 30


def test_a_copy_of_the_files_at_any_moment_opens(tmp_path, hasher, vectors):
    """As after a loss of power: the log is there, its shared memory is not."""
    source = tmp_path / "x.rankhash"
    with Collection.create(source, hasher) as collection:
        for i in range(20):
            collection.add(vectors[i * 10 : i * 10 + 10])
            copy = tmp_path / f"copy-{i}.rankhash"
            for suffix in ("", "-wal"):
                shutil.copy(f"{source}{suffix}", f"{copy}{suffix}")
            with Collection.open(copy) as other:
                assert len(other) == 10 * (i + 1)
                assert other.ids() == collection.ids()
                assert other.check().problems == ()


def test_a_log_that_is_cut_off_loses_whole_changes_only(tmp_path, hasher, vectors):
    source = tmp_path / "x.rankhash"
    with Collection.create(source, hasher, store_vectors="float32") as collection:
        for i in range(6):
            collection.add(vectors[i * 20 : i * 20 + 20])
        log = Path(f"{source}-wal").read_bytes()
        main = source.read_bytes()
    for cut in np.linspace(0, len(log), 40).astype(int):
        copy = tmp_path / "copy.rankhash"
        copy.write_bytes(main)
        Path(f"{copy}-wal").write_bytes(log[:cut])
        with Collection.open(copy) as other:
            assert len(other) % 20 == 0
            assert other.check().problems == ()
        copy.unlink()


def limited_file_size(n_bytes):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    return limit


def test_a_write_that_fails_is_an_error_and_loses_nothing(path, hasher, vectors):
    with Collection.create(path, hasher) as collection:
        collection.add(vectors[:50])
    script = f"""
import numpy as np
from rankhash import Collection, StorageError
with Collection.open({str(path)!r}, "rw") as collection:
    try:
        for _ in range(200):
            collection.add(np.ones((300, 6)), metadata=[{{"text": "x" * 500}}] * 300)
    except StorageError as error:
        print("refused", len(collection))
    print(len(collection.search(np.ones((1, 6)), 3).ids))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        preexec_fn=limited_file_size(os.path.getsize(path) + (2 << 20)),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "refused" in done.stdout
    kept = int(done.stdout.split()[1])
    with Collection.open(path, "rw") as collection:
        assert len(collection) == kept
        assert kept % 300 == 50
        assert collection.check().problems == ()
        collection.add(vectors[:5])
        assert len(collection) == kept + 5


def test_a_full_disk_is_an_error_and_loses_nothing(collection, vectors):
    collection.add(vectors[:50])
    with collection._database.connections.borrowed() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 3}")
    with pytest.raises(StorageError, match="full; the change was undone"):
        collection.add(np.ones((500, 6)), metadata=[{"text": "x" * 500}] * 500)
    assert len(collection) == 50
    with collection._database.connections.borrowed() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    collection.add(vectors[:7])
    assert len(collection) == 57
    assert collection.check().problems == ()


def test_an_exception_in_the_middle_of_a_change_undoes_it(collection, vectors, monkeypatch):
    from rankhash.collection import _chunks

    collection.add(vectors[:10], [f"a{i}" for i in range(10)])
    with monkeypatch.context() as patched:
        patched.setattr(_chunks, "append", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            collection.upsert(vectors[:10], [f"a{i}" for i in range(5, 15)])
    assert collection.ids() == [f"a{i}" for i in range(10)]
    collection.upsert(vectors[:10], [f"a{i}" for i in range(5, 15)])
    assert len(collection) == 15


# -- files that cannot be written ----------------------------------------------------------------------------------


@pytest.fixture
def read_only(path, hasher, vectors, monkeypatch):
    """A collection in a folder that nobody may write to, or that says so to whoever asks."""
    with Collection.create(path, hasher) as collection:
        collection.add(vectors[:50], metadata=[{"n": i} for i in range(50)])
    path.chmod(0o444)
    path.parent.chmod(0o555)
    real = os.access
    monkeypatch.setattr(os, "access", lambda name, mode: not mode & os.W_OK and real(name, mode))
    yield path
    path.parent.chmod(0o755)


def test_a_read_only_collection_can_be_searched(read_only, vectors):
    with Collection.open(read_only) as collection:
        assert collection.search(vectors[:1], 1).ids[0, 0] == 0
        assert collection.count("n < 5") == 5


def test_a_read_only_collection_refuses_changes_with_a_sentence(read_only, vectors):
    with pytest.raises(StorageError, match='mode="r"'):
        Collection.open(read_only, "rw")
    with Collection.open(read_only) as collection, pytest.raises(StorageError, match="opened for reading"):
        collection.add(vectors)


def test_a_read_only_file_system_is_read(tmp_path, hasher, vectors):
    folder = tmp_path / "mounted"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", folder], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        with Collection.create(folder / "x.rankhash", hasher) as collection:
            collection.add(vectors[:50])
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        with Collection.open(folder / "x.rankhash") as collection:
            assert collection.search(vectors[:1], 1).ids[0, 0] == 0
        with pytest.raises(StorageError, match='mode="r"'):
            Collection.open(folder / "x.rankhash", "rw")
        with pytest.raises(StorageError):
            Collection.create(folder / "y.rankhash", hasher)
    finally:
        subprocess.run(["umount", folder], check=True)


def add_without_end(collection, vectors):
    while True:
        collection.add(vectors, metadata=[{"text": "x" * 300}] * 300)


def test_a_full_file_system_is_an_error_and_loses_nothing(tmp_path, hasher, vectors):
    folder = tmp_path / "mounted"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        with Collection.create(folder / "x.rankhash", hasher) as collection:
            collection.add(vectors[:50])
            with pytest.raises(StorageError, match=r"full|cannot be read or written"):
                add_without_end(collection, vectors)
            kept = len(collection)
            assert kept % 300 == 50
            assert len(collection.search(vectors[:3], 2).ids) == 3
        with Collection.open(folder / "x.rankhash") as collection:
            assert len(collection) == kept
            assert collection.check().problems == ()
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_closed_collection_is_one_file(path, hasher, vectors):
    with Collection.create(path, hasher) as collection:
        collection.add(vectors)
        assert collection.search(vectors[:1], 1).ids[0, 0] == 0
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()

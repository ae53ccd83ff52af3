"""Files: what is written comes back, what is damaged or hostile is refused, nothing is left behind."""

import hashlib
import json
import os
import stat

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from rankhash import _files
from rankhash._files import _writing, read_file, write_file
from rankhash.errors import FileFormatError, InvalidInputError, StorageError

HEADER = {"name": "ünïcode", "rate": 0.1, "none": None, "list": [1, 2.5, "x"], "nested": {"a": True}}


def some_tensors():
    rng = np.random.default_rng(0)
    return {
        "vectors": rng.normal(size=(5, 3)).astype(np.float32),
        "ids": rng.integers(0, 1 << 60, 7),
        "codes": rng.integers(0, 256, (9, 5)).astype(np.uint8),
        "empty": np.empty((0, 4), np.float64),
        "scalar": np.array(7, np.int16),
    }


@pytest.fixture
def path(tmp_path):
    write_file(tmp_path / "file", some_tensors(), HEADER, "index")
    return tmp_path / "file"


def assert_same(tensors, expected):
    assert tensors.keys() == expected.keys()
    for name, tensor in tensors.items():
        assert tensor.dtype == expected[name].dtype
        np.testing.assert_array_equal(tensor, expected[name], strict=True)


def rewrite(path, change):
    """Change the parsed head of a file, and give it the digest that it then must have."""
    head, contents, data = parsed(path)
    change(head, contents)
    contents.pop("digest", None)
    described = {
        name: (entry.get("dtype"), entry.get("shape")) for name, entry in head.items() if isinstance(entry, dict)
    }
    canonical = json.dumps([contents, described], sort_keys=True, separators=(",", ":"))
    contents["digest"] = hashlib.sha256(canonical.encode()).hexdigest()
    compose(path, {"__metadata__": {"rankhash": json.dumps(contents)}, **head}, data)


def parsed(path):
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8 : 8 + length])
    contents = json.loads(head.pop("__metadata__")["rankhash"])
    return head, contents, raw[8 + length :]


def compose(path, head, data):
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("mmap", [False, True])
def test_what_is_written_comes_back(path, mmap, verify):
    header, tensors = read_file(path, "index", mmap=mmap, verify=verify)
    assert header == HEADER
    assert_same(tensors, some_tensors())
    for tensor in tensors.values():
        assert tensor.flags.aligned
        assert tensor.flags.c_contiguous
        assert tensor.flags.writeable is not mmap


def test_a_file_is_plain_safetensors(path):
    assert_same(load_file(path), some_tensors())


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    write_file(tmp_path / "again", dict(reversed(some_tensors().items())), HEADER, "index")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("change", [np.asfortranarray, lambda a: a[::2], lambda a: a.astype(a.dtype.newbyteorder(">"))])
def test_the_order_in_memory_does_not_matter(change, tmp_path):
    array = np.arange(24, dtype=np.int32).reshape(6, 4)
    write_file(tmp_path / "file", {"a": change(array)}, {}, "index")
    assert_same(read_file(tmp_path / "file", "index")[1], {"a": np.ascontiguousarray(change(array), np.int32)})


def test_a_mapped_file_survives_being_replaced(path):
    _, tensors = read_file(path, "index", mmap=True)
    write_file(path, {"other": np.zeros(1000)}, {}, "index")
    assert_same(tensors, some_tensors())
    assert_same(read_file(path, "index")[1], {"other": np.zeros(1000)})


def test_a_link_is_written_through(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    write_file(tmp_path / "link", {}, {"new": 1}, "index")
    assert (tmp_path / "link").is_symlink()
    assert read_file(path, "index") == ({"new": 1}, {})


def test_permissions_are_the_usual_ones_or_those_of_the_old_file(path, tmp_path):
    (tmp_path / "plain").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    path.chmod(0o640)
    write_file(path, {}, {}, "index")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("step", ["save_file", "_finish", "os.replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch, step):
    def fail(*_args, **_kwargs):
        raise OSError("the disk is full")

    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(f"rankhash._files._writing.{step}", fail)
        with pytest.raises(OSError, match="the disk is full"):
            write_file(path, {"a": np.zeros(3)}, {}, "index")
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["file"]


def test_a_full_disk_is_an_os_error(path, monkeypatch):
    def fail(*_args, **_kwargs):
        raise _writing.SafetensorError("no space left")

    monkeypatch.setattr(_writing, "save_file", fail)
    with pytest.raises(OSError, match=r"cannot be written: .*no space left"):
        write_file(path, {}, {}, "index")


def test_what_cannot_be_read_back_is_not_written(tmp_path):
    with pytest.raises(InvalidInputError, match="'a' must hold integers or floats to be saved, got object"):
        write_file(tmp_path / "file", {"a": np.array([None])}, {}, "index")
    with pytest.raises(InvalidInputError, match="names and parameters of more than 4194304 bytes cannot be saved"):
        write_file(tmp_path / "file", {}, {"name": "x" * _files.MAX_HEADER_BYTES}, "index")
    with pytest.raises(StorageError, match="cannot be written: No such file or directory"):
        write_file(tmp_path / "missing" / "file", {}, {}, "index")
    assert os.listdir(tmp_path) == []


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "missing", "index")


def test_another_kind_and_a_newer_version_have_errors_of_their_own(path):
    with pytest.raises(FileFormatError, match=r"file holds a rankhash index, and a rankhash hasher was expected"):
        read_file(path, "hasher")
    rewrite(path, lambda _, contents: contents.update(version=2))
    with pytest.raises(FileFormatError, match="has format version 2, but this rankhash reads version 1; upgrade"):
        read_file(path, "index")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"short",
        b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00.",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'}" + bytes(200),
        b"SQLite format 3\0" + bytes(4096),
        b"\xff" * 64,
        (8).to_bytes(8, "little") + b"[[[[]]]]",
        (16).to_bytes(8, "little") + b'{"a": 1}        ',
        (4 << 20).to_bytes(8, "little") + b"[" * (4 << 20),
        (8).to_bytes(8, "little") + b'"\\ud800"',
        (8).to_bytes(8, "little") + b"\xff\xfe{}    ",
        (1 << 62).to_bytes(8, "little") + b"{}",
    ],
)
def test_a_foreign_file_is_refused(tmp_path, raw):
    (tmp_path / "file").write_bytes(raw)
    with pytest.raises(FileFormatError, match="file is not a rankhash file"):
        read_file(tmp_path / "file", "index")


def test_a_directory_a_device_and_other_safetensors_are_refused(tmp_path):
    for path in (tmp_path, "/dev/null"):
        with pytest.raises(FileFormatError, match="is not a file"):
            read_file(path, "index")
    save_file({"a": np.zeros(3)}, tmp_path / "model", metadata={"format": "pt"})
    with pytest.raises(FileFormatError, match="is not a rankhash file"):
        read_file(tmp_path / "model", "index")


def alias(head, contents):
    """Let a second tensor take the bytes of the first."""
    head["copy"] = dict(head["ids"])
    contents["sha256"]["copy"] = contents["sha256"]["ids"]


HUGE = 1 << 60
HOSTILE = {
    "huge shape": lambda head, _: head["codes"].update(shape=[HUGE, 5]),
    "huge empty shape": lambda head, _: head["empty"].update(shape=[0, HUGE, HUGE]),
    "many dimensions": lambda head, _: head["scalar"].update(shape=[1] * 1000),
    "huge offsets": lambda head, _: head["codes"].update(shape=[HUGE], data_offsets=[0, HUGE]),
    "negative shape": lambda head, _: head["codes"].update(shape=[-9, -5]),
    "boolean shape": lambda head, _: head["scalar"].update(shape=[True]),
    "fractional shape": lambda head, _: head["codes"].update(shape=[9.0, 5.0]),
    "shape as text": lambda head, _: head["codes"].update(shape="95"),
    "overlap": lambda head, _: head["vectors"].update(data_offsets=[0, 60]),
    "alias": alias,
    "backwards": lambda head, _: head["codes"].update(data_offsets=head["codes"]["data_offsets"][::-1]),
    "three offsets": lambda head, _: head["codes"]["data_offsets"].append(0),
    "unknown dtype": lambda head, _: head["codes"].update(dtype="F8_E4M3"),
    "list as dtype": lambda head, _: head["codes"].update(dtype=["U8"]),
    "extra field": lambda head, _: head["codes"].update(more=1),
    "no entry": lambda head, _: head.update(codes=None),
    "missing tensor": lambda head, _: head.pop("vectors"),
    "added empty tensor": lambda head, _: head.update(x={"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}),
    "no header": lambda _, contents: contents.pop("header"),
    "list as header": lambda _, contents: contents.update(header=[1]),
    "no kind": lambda _, contents: contents.pop("kind"),
    "list as kind": lambda _, contents: contents.update(kind=["index"]),
    "no checksums": lambda _, contents: contents.update(sha256={}),
    "wrong checksums": lambda _, contents: contents["sha256"].update(codes=0),
    "list as checksums": lambda _, contents: contents.update(sha256=[]),
    "true as version": lambda _, contents: contents.update(version=True),
    "text as version": lambda _, contents: contents.update(version="1"),
    "no version": lambda _, contents: contents.pop("version"),
    "not a number": lambda _, contents: contents["header"].update(rate=float("nan")),
    "infinite": lambda _, contents: contents["header"].update(rate=float("inf")),
    "unknown contents": lambda _, contents: contents.update(more=1),
}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_header_is_refused_even_with_a_valid_digest(path, change, mmap):
    rewrite(path, change)
    with pytest.raises(FileFormatError) as caught:
        read_file(path, "index", mmap=mmap)
    assert "\n" not in str(caught.value)


def test_rewriting_without_a_change_keeps_a_file_valid(path):
    rewrite(path, lambda *_: None)
    assert_same(read_file(path, "index")[1], some_tensors())


def test_damaged_data_is_only_found_by_verifying(path):
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match="the checksum of 'codes' does not match"):
        read_file(path, "index")
    read_file(path, "index", verify=False)


def mutate(raw, rng):
    """One random damage: a flipped bit, a changed run, a cut, an addition, or two swapped runs."""
    raw = bytearray(raw)
    a, b = sorted(rng.integers(0, len(raw), 2))
    kind = rng.integers(0, 6)
    if kind == 0:
        raw[a] ^= 1 << rng.integers(0, 8)
    elif kind == 1:
        raw[rng.integers(0, 8)] ^= 1 << rng.integers(0, 8)
    elif kind == 2:
        del raw[a : rng.choice([a + 1, b, len(raw)])]
    elif kind == 3:
        raw[a:a] = rng.bytes(rng.integers(1, 20))
    elif kind == 4:
        length = rng.integers(1, 20)
        raw[a : a + length], raw[b : b + length] = raw[b : b + length], raw[a : a + length]
    else:
        raw[a : a + 4] = rng.bytes(4)
    return bytes(raw)


@pytest.mark.parametrize("mmap", [False, True])
def test_thousands_of_mutated_files_are_refused_or_unharmed(path, mmap):
    rng = np.random.default_rng(1 + mmap)
    original = path.read_bytes()
    refused = 0
    for _ in range(2500):
        path.write_bytes(mutate(original, rng))
        try:
            header, tensors = read_file(path, "index", mmap=mmap)
        except FileFormatError:
            refused += 1
        else:
            assert header == HEADER
            assert_same(tensors, some_tensors())
    assert refused > 2000

"""Files of every kind that is read, and damaged copies of them."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path

import numpy as np

from rankhash import LSH

X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
HASHER = LSH(32, random_state=0).fit(X)
TEXT = (".jsonl", ".csv", ".txt")
PIECES = [
    *(b"9" * 5000, b"1" * 400, b"1e999", b"NaN", b"-Infinity", b"[" * 5000, b'{"a":' * 5000, b"\x00", b"\xff\xfe"),
    *(b"\xed\xa0\x80", b'"\\ud800"', b"null", b"true", b"18446744073709551616", b"\r", b'"', b"\n", b"1e39", b"1e-46"),
    *(b"-0", b"1_000", b"\xef\xbb\xbf", b'{"id":1}', b"[]", b"{}", b'"vector"'),
]
"""What is put into files of text"""


def files(folder: Path) -> dict[str, bytes]:
    """One healthy file of each kind, by name."""
    made = {"rows.npy": _npy(X), "columns.npy": _npy(np.asfortranarray(X))}
    for name, method in (("stored", 0), ("deflate", 8), ("bzip2", 12), ("lzma", 14)):
        made[f"{name}.npz"] = _npz(method)
    made |= _tables(folder) | _hdf5(folder) | _texts()
    made["x.fvecs"] = b"".join(np.int32(6).tobytes() + row.tobytes() for row in X)
    made["x.bvecs"] = (np.int32(6).tobytes() + bytes(range(6))) * 40
    return made


def mutated(name: str, data: bytes, seed: int) -> bytes:
    """The file with a few changes of bits, bytes, lengths, and texts if it is one."""
    rng = random.Random(f"{seed},{name}")
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 10])):
        place = rng.randrange(max(1, len(changed)))
        match rng.randrange(9 if name.endswith(TEXT) else 7):
            case 0 if changed:
                changed[place] ^= 1 << rng.randrange(8)
            case 1 if changed:
                changed[place] = rng.randrange(256)
            case 2:
                del changed[place : place + rng.choice([1, 2, 8, 100])]
            case 3:
                changed[place:place] = rng.randbytes(rng.choice([1, 4, 16]))
            case 4:
                del changed[place:]
            case 5:
                start, n = rng.randrange(max(1, len(changed))), rng.choice([1, 4, 8, 32])
                changed[place : place + n] = changed[start : start + n]
            case 6:
                n = rng.choice([1, 2, 4, 8])
                changed[place : place + n] = rng.choice([b"\xff", b"\x00", b"\x7f", b"\x80"]) * n
            case _:
                changed[place : place + rng.choice([0, 0, 1, 3, 10])] = rng.choice(PIECES)
    return bytes(changed)


def _npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _npz(method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("X.npy", _npy(X))
        archive.writestr("y.npy", _npy(np.arange(40)))
    return file.getvalue()


def _hdf5(folder: Path) -> dict[str, bytes]:
    import h5py

    made = {}
    for name, options in {
        "plain.h5": {},
        "gzip.h5": {"chunks": (7, 6), "compression": "gzip"},
        "lzf.hdf5": {"chunks": (7, 6), "compression": "lzf", "shuffle": True},
    }.items():
        with h5py.File(folder / name, "w", libver="latest" if name == "lzf.hdf5" else None) as file:
            file.create_dataset("X", data=X, **options)
            file["names/text"] = ["a", "bc"]
        made[name] = (folder / name).read_bytes()
    return made


def _tables(folder: Path) -> dict[str, bytes]:
    import pyarrow as arrow
    from pyarrow import parquet

    lists = arrow.FixedSizeListArray.from_arrays(arrow.array(X.ravel()), 6)
    texts = [json.dumps({"n": i, "t": "x" * i}) for i in range(40)]
    more = {"text": ["ab"] * 40, "deep": [[{"a": 1}]] * 40, "time": arrow.array([1] * 40, arrow.timestamp("us"))}
    ragged = {"id": [f"s{i}" for i in range(40)], "vector": X.tolist()} | more
    codes = arrow.table({"id": range(40), "metadata": texts, "code": [b"abcd"] * 40})
    tables = {
        "lists.parquet": (arrow.table({"id": range(40), "vector": lists, "metadata": texts}), "snappy"),
        "ragged.parquet": (arrow.table(ragged), "zstd"),
        "wide.parquet": (arrow.table({f"c{i}": X[:, i] for i in range(6)}), "none"),
        "fields.parquet": (arrow.table({"name": [f"a{i}" for i in range(40)]} | more), "snappy"),
        "codes.parquet": (codes.replace_schema_metadata({"rankhash": HASHER.layout_.fingerprint}), "none"),
    }
    made = {}
    for name, (table, compression) in tables.items():
        parquet.write_table(table, folder / name, compression=compression, row_group_size=17, write_page_index=True)
        made[name] = (folder / name).read_bytes()
    return made


def _texts() -> dict[str, bytes]:
    named = [{"id": f"é{i}", "vector": row, "metadata": {"a": [1, {"b": None}]}} for i, row in enumerate(X.tolist())]
    points = [{"id": i, "vector": {"v": row}, "payload": {"a": i}} for i, row in enumerate(X.tolist())]
    codes = [
        {"id": i, "code": "00ff00ff", "hasher": HASHER.layout_.fingerprint, "metadata": {"a": i}} for i in range(40)
    ]
    hashes = [{"path": f"{i}.png", "size": 5, "time": 7, "hash": "00" * 8} for i in range(40)]
    rows = [",".join(map(str, [i, *row])) for i, row in enumerate(X.tolist())]
    return {
        "named.jsonl": _lines(map(json.dumps, named)),
        "plain.jsonl": _lines(map(json.dumps, X.tolist())),
        "codes.jsonl": _lines(map(json.dumps, codes)),
        "points.jsonl": _lines(map(json.dumps, points)),
        "hashes.jsonl": _lines(map(json.dumps, hashes)),
        "fields.jsonl": _lines(json.dumps({"name": i, "t": "ü"}) for i in range(40)),
        "named.csv": _lines(["id,a,b,c,d,e,f", *rows]),
        "plain.csv": _lines(row.partition(",")[2] for row in rows),
        "fields.csv": _lines(["name,n,t", *(f'a{i},{i},"q,{i}"' for i in range(40))]),
        "ids.txt": _lines(f"id{i}" for i in range(40)),
    }


def _lines(lines) -> bytes:
    return "\n".join(lines).encode()

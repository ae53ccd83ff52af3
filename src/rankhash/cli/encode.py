"""``rankhash encode``: codes of vectors."""

from __future__ import annotations

from typing import IO

import click

from .._files import written_whole
from ..errors import InvalidInputError
from ..readers import open_vectors
from . import _common

HEADER_BYTES = 128


@click.command(
    epilog=_common.examples(
        "rankhash encode hasher.safetensors vectors.npy --out codes.npy",
        "rankhash encode items.rankhash more.parquet --out codes.npy --key vector",
        "rankhash encode hasher.safetensors texts.npy --out codes.npy --view text",
    )
)
@click.argument("hasher", type=_common.existing)
@click.argument("vectors", type=str)
@click.option("--out", required=True, type=click.Path(dir_okay=False), help="The .npy file to write the codes to.")
@_common.view_option
@_common.key_option
@_common.as_json_option
def command(hasher: str, vectors: str, out: str, view: str | None, key: str | None, as_json: bool) -> None:
    """Write the codes of the vectors in the file VECTORS. HASHER is a hasher file or a collection.

    The codes are an array of bytes of the shape (n, n_bytes). The file is read block by block, so it may be larger than
    memory.
    """
    if not out.endswith(".npy"):
        raise InvalidInputError(f"{out} must end with .npy")
    method, data = _common.view_of(_common.hasher_of(hasher), view), open_vectors(vectors, key)
    done, n_bytes = 0, method.layout_.n_bytes
    with (
        written_whole(out) as temporary,
        open(temporary, "xb") as file,
        _common.progress("encoding", data.n_rows) as update,
    ):
        _write_header(file, 0, n_bytes)
        for block in data:
            file.write(method.encode(block.vectors).tobytes())
            done += len(block.vectors)
            update(done)
        file.seek(0)
        _write_header(file, done, n_bytes)
    _common.show({"path": out, "n_codes": done, "n_bytes": n_bytes}, as_json=as_json)


def _write_header(file: IO[bytes], n: int, n_bytes: int) -> None:
    """Write the header of a .npy file; its length does not depend on the number of rows."""
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({n}, {n_bytes}), }}"
    padded = text.ljust(HEADER_BYTES - 11) + "\n"
    file.write(b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode("latin1"))

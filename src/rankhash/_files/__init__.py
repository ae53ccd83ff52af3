"""The file format of hashers and indexes: safetensors with a JSON header and checksums, no pickle.

::

    8 bytes   length of the JSON that follows, little endian
    JSON      {"__metadata__": {"rankhash": the contents below, as a string},
               tensor: {"dtype": "F32", "shape": [n, d], "data_offsets": [begin, end]}, …}
    bytes     the tensors, little endian, in C order, without gaps

    contents  {"version": 1, "kind": "hasher" | "index", "header": {…}, "sha256": {tensor: checksum, …},
               "digest": checksum of the other contents and of the tensors' names, dtypes and shapes}

A reader checks every size against the length of the file before it allocates memory.
"""

from ._format import MAX_HEADER_BYTES, PathLike, Tensors
from ._reading import from_bytes, read_file
from ._writing import sync_folder, to_bytes, write_file, written_whole

__all__ = [
    "MAX_HEADER_BYTES",
    "PathLike",
    "Tensors",
    "from_bytes",
    "read_file",
    "sync_folder",
    "to_bytes",
    "write_file",
    "written_whole",
]

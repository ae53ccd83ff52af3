"""Dask: learn from, encode and search more than one machine holds, with the same codes and the same answers.

::

    dask array ──fit(hasher, array)──▶ hasher            a sample is learned from, RSH's functions on the workers
    dask array ──encode(array, hasher)──▶ dask array     of codes, block by block, when it is computed
    codes ──DaskIndex.from_array | from_files──▶ DaskIndex ──save──▶ folder ──DaskIndex.open──▶ DaskIndex

Needs the extra ``dask``.
"""

from importlib.util import find_spec as _find_spec

if not (_find_spec("dask") and _find_spec("distributed")):
    raise ImportError("rankhash.engines.dask needs Dask: pip install 'rankhash[dask]'")

from ._encoding import encode
from ._fitting import fit
from .index import DaskIndex

__all__ = ["DaskIndex", "encode", "fit"]

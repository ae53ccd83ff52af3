"""Dask: fit to, encode and search more than one machine holds, with the same codes and the same answers.

::

    dask array ──fit(hasher, array)──▶ hasher            fitted to a sample
    dask array ──encode(array, hasher)──▶ dask array     of codes, lazy
    codes ──DaskIndex.from_array | from_files──▶ DaskIndex ──save──▶ folder ──DaskIndex.open──▶ DaskIndex
    vectors ──DaskVectorIndex.from_array | from_files──▶ DaskVectorIndex: the same, with true neighbours

Needs the extra ``dask``.
"""

from importlib.util import find_spec as _find_spec

if not (_find_spec("dask") and _find_spec("distributed")):
    raise ImportError("rankhash.engines.dask needs Dask: pip install 'rankhash[dask]' (in a checkout: '.[dask]')")

from ._encoding import encode
from ._fitting import fit
from .index import DaskIndex
from .vector_index import DaskVectorIndex

__all__ = ["DaskIndex", "DaskVectorIndex", "encode", "fit"]

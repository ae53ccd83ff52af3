"""The arrays that the native core takes and gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

U8 = NDArray[np.uint8]
I64 = NDArray[np.int64]
I32 = NDArray[np.int32]
U32 = NDArray[np.uint32]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]

INT64 = np.dtype(np.int64)
FLOAT32 = np.dtype(np.float32)

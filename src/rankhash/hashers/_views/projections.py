"""The arrays that encode every view: side by side in the hasher's file, one `ViewEncoder` per view in memory.

::

    ViewProjections per view ─▶ join_views ─▶ learned arrays ─▶ views_fit ─▶ split_views ─▶ ViewEncoder per view
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from ..._types import F32, F64, U8
from ...codes import CodeLayout
from ...vectors import VectorBatches, batches
from .._features.anchors import KernelHasher
from ..base import Arrays
from ..training import Training

MAX_VIEWS = 16
"""Largest number of views."""

MAX_NAME = 64
"""Largest number of characters of a view's name."""

MAX_WIDTH = 1 << 20
"""Largest number of features of a view in a file."""


@dataclass(frozen=True)
class ViewProjections:
    """The encoder of one view: projections of vectors, or of kernel values with anchors."""

    projections: F32
    center: F32
    n_features: int
    bias: F32 | None = None
    anchors: F32 | None = None
    scale: float = 0.0
    """Scale of the distances to the anchors; 0 without anchors"""

    def arrays(self) -> Arrays:
        """The learned arrays under the names of hashers of one view."""
        arrays: Arrays = {"projections_": self.projections, "center_": self.center}
        if self.bias is not None:
            arrays["bias_"] = self.bias
        if self.anchors is not None:
            arrays |= {"anchors_": self.anchors, "scale_": np.array([self.scale], np.float32)}
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def join_views(views: list[ViewProjections]) -> Arrays:
    """The arrays of all views side by side; ``split_views`` separates them."""
    arrays: Arrays = {
        "projections_": np.concatenate([view.projections for view in views], axis=1).astype(np.float32, copy=False),
        "center_": np.concatenate([view.center for view in views]).astype(np.float32, copy=False),
        "widths_": np.array([(view.projections.shape[1], view.n_features) for view in views], np.int64),
        "scale_": np.array([view.scale for view in views], np.float32),
    }
    if views[0].bias is not None:
        arrays["bias_"] = np.stack([np.asarray(view.bias, np.float32) for view in views])
    anchors = [view.anchors.ravel() for view in views if view.anchors is not None]
    return arrays | ({"anchors_": np.concatenate(anchors)} if anchors else {})


def split_views(arrays: Arrays) -> list[ViewProjections]:
    """The views, from arrays of ``join_views`` that ``views_fit`` accepts."""
    views, column, used = [], 0, 0
    for place, (width, n_features) in enumerate(arrays["widths_"].tolist()):
        columns, scale = slice(column, column + width), float(arrays["scale_"][place])
        anchors = None
        if scale > 0:
            anchors = arrays["anchors_"][used : used + width * n_features].reshape(width, n_features)
            used += width * n_features
        bias = arrays["bias_"][place] if "bias_" in arrays else None
        projections, center = arrays["projections_"][:, columns], arrays["center_"][columns]
        views.append(ViewProjections(projections, center, n_features, bias, anchors, scale))
        column += width
    return views


def views_fit(arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
    """Whether arrays of a file have the types, shapes and values that ``split_views`` and the kernels rely on."""
    widths = arrays.get("widths_", np.empty(0))
    if widths.ndim != 2 or widths.shape[1] != 2 or widths.dtype != np.int64 or not 2 <= len(widths) <= MAX_VIEWS:
        return False
    if widths.min() < 1 or widths.max() > MAX_WIDTH or widths[0, 1] != n_features:
        return False
    rows = layout.n_symbols * (1 if layout.arity == 2 else layout.arity)
    total, empty = int(widths[:, 0].sum()), np.empty(0)
    scale = arrays.get("scale_", empty)
    if scale.shape != (len(widths),) or not (scale >= 0).all():
        return False
    kernels = widths[scale > 0]
    n_anchors = int((kernels[:, 0] * kernels[:, 1]).sum())
    shapes = {"projections_": (rows, total), "center_": (total,), "scale_": (len(widths),)}
    if "bias_" in arrays:
        shapes["bias_"] = (len(widths), rows)
    if n_anchors or "anchors_" in arrays:
        shapes["anchors_"] = (n_anchors,)
    linear = widths[scale == 0]
    return bool((linear[:, 0] == linear[:, 1]).all()) and all(
        (array := arrays.get(name, empty)).shape == shape and array.dtype == np.float32 and np.isfinite(array).all()
        for name, shape in shapes.items()
    )


class ViewEncoder(KernelHasher):
    """The codes of one view, under the layout of all views; also a hasher of its own.

    ``sharpness`` and ``weights`` are those of the hasher, None if it has none.
    """

    n_symbols = None

    def __init__(
        self, owner: str, layout: CodeLayout, view: ViewProjections, sharpness: F32 | None, weights: F32 | None
    ) -> None:
        self.owner, self.layout_, self.n_features_in_ = owner, layout, view.n_features
        self.weights_ = weights
        if sharpness is not None:
            self.sharpness_ = sharpness
        arrays = view.arrays()
        for name in self._code_arrays:
            setattr(self, name, arrays.get(name))

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        raise NotImplementedError("the views of a hasher are fitted together")

    def _scores(self, vectors: F32) -> F64:
        """The scores, or with a sharpness the probabilities of each value of each symbol."""
        scores = super()._scores(vectors)
        if not hasattr(self, "sharpness_"):
            return scores
        sharp: F64 = softmax(scores * float(self.sharpness_[0]), axis=2)
        return sharp

    def _open(self, X: Any, name: str = "X") -> VectorBatches:
        return batches(X, n_features=self.n_features_in_, name=name, owner=self.owner)


def names_fit(names: Any) -> bool:
    """Whether names of views are different texts of 1 to 64 characters in one line."""
    good = all(isinstance(name, str) and 0 < len(name) <= MAX_NAME and "\n" not in name for name in names)
    return good and len({*names}) == len(names)


def names_as_bytes(names: list[str]) -> U8:
    """Names as the array of a file: UTF-8, one name per line."""
    return np.frombuffer("\n".join(names).encode("utf-8", "surrogatepass"), np.uint8)


def names_from_bytes(array: Any) -> list[str]:
    """The names that ``names_as_bytes`` stored; ValueError if the array is damaged."""
    if array.dtype != np.uint8 or array.ndim != 1 or array.size > 8 * MAX_VIEWS * MAX_NAME:
        raise ValueError("its names of views make no sense")
    return str(array.tobytes(), "utf-8", "surrogatepass").split("\n")

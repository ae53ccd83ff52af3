"""The base of hashers whose bits are the outputs of a feed-forward network of sigmoid layers."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import numpy as np

from .. import _kernels
from .._types import F32, F64, U8
from ..codes import CodeLayout
from ._blocks import block_rows
from ._network import sigmoid
from .base import Arrays, Hasher


class NetworkHasher(Hasher):
    """Binary codes: a bit is 1 where the input of its output unit is positive.

    A method names the arrays of its layers in ``_layers`` and returns them, and ``center_``, from ``_learn``.
    """

    center_: F32

    _layers: ClassVar[tuple[tuple[str, str], ...]]
    """Names of the weights and biases of each layer, from the vectors to the codes."""

    def _bit_scores(self, batch: F32, n_threads: int | None) -> F32:
        """The inputs ``(n, n_symbols)`` of the output units."""
        threads, values = _kernels.resolve_threads(n_threads), batch
        center: F32 | None = self.center_
        with np.errstate(over="ignore"):
            for weights, bias in self._layers[:-1]:
                inputs = _kernels.project(values, getattr(self, weights), getattr(self, bias), center, threads)
                values, center = sigmoid(inputs), None
        weights, bias = self._layers[-1]
        return _kernels.project(values, getattr(self, weights), getattr(self, bias), center, threads)

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:
        n_hidden = len(getattr(self, self._layers[0][0]))
        step = block_rows(batch.shape[1], n_hidden, self.layout_.n_symbols)
        return self._encode_blocks(batch, step, lambda block: self._bit_scores(block, n_threads) > 0)

    def _scores(self, vectors: F32) -> F64:
        scores = self._bit_scores(vectors, None).astype(np.float64)
        return np.stack([np.zeros_like(scores), scores], axis=2)

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        if arrays.keys() != {*self._code_arrays} or layout.arity != 2:
            return False
        sizes = [n_features, *(arrays[bias].size for _, bias in self._layers[:-1]), layout.n_symbols]
        shapes: dict[str, tuple[int, ...]] = {"center_": (n_features,)}
        for (weights, bias), (n_in, n_out) in zip(self._layers, pairwise(sizes), strict=True):
            shapes |= {weights: (n_out, n_in), bias: (n_out,)}
        return min(sizes) > 0 and all(
            arrays[name].shape == shape and arrays[name].dtype == np.float32 and bool(np.isfinite(arrays[name]).all())
            for name, shape in shapes.items()
        )

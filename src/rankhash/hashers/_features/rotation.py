"""The rotation of principal components that brings them closest to ±1: learned by ITQ, the start of JRSH."""

from __future__ import annotations

import numpy as np

from ..._types import F32, F64

BLOCK_ROWS = 8192
"""Vectors that are rotated at once, so that memory does not grow with their number."""


def improve_rotation(components: F32, rotation: F64, n_iterations: int) -> tuple[F64, F64]:
    """The rotation ``(k, n_symbols)`` after ``n_iterations`` updates, and the mean loss after each.

    For given signs B the loss |B - VR|² = n · n_symbols + |V|² - 2 tr(BᵀVR) is smallest where the trace is largest: at
    R = QPᵀ with the singular value decomposition BᵀV = PSQᵀ. The trace is then the sum of S.
    """
    n, n_symbols = len(components), rotation.shape[1]
    square = float(np.einsum("ij,ij->", components, components, dtype=np.float64)) / n
    losses = np.empty(n_iterations)
    for iteration in range(n_iterations):
        left, strengths, right = np.linalg.svd(_signs_by_components(components, rotation) / n, full_matrices=False)
        rotation = right.T @ left.T
        losses[iteration] = n_symbols + square - 2 * strengths.sum()
    return rotation, losses


def _signs_by_components(components: F32, rotation: F64) -> F64:
    """BᵀV ``(n_symbols, k)`` with the signs B of VR; the sign of 0 is positive."""
    total = np.zeros(rotation.T.shape)
    turn = rotation.astype(np.float32)
    for start in range(0, len(components), BLOCK_ROWS):
        part = components[start : start + BLOCK_ROWS]
        signs = np.where(part @ turn >= 0, np.float32(1), np.float32(-1))
        total += signs.T @ part
    return total

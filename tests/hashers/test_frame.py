"""The frame of JRSH's points, and the sharpness of its queries."""

import numpy as np
import pytest

from rankhash import _ranking
from rankhash.errors import InvalidInputError
from rankhash.hashers._joint.calibration import best_sharpness
from rankhash.hashers._joint.frame import MAX_AXES, measure_frame
from rankhash.hashers._joint.labels import IGNORED


def test_a_frame_keeps_distances_and_has_unit_deviation():
    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=(500, 7)) * np.arange(1, 8) * 1e3 + 50).astype(np.float32)
    frame = measure_frame(vectors, vectors.mean(axis=0), principal=True)
    points = frame.points(vectors)
    ratio = np.linalg.norm(points[1:] - points[0], axis=1) / np.linalg.norm(vectors[1:] - vectors[0], axis=1)
    assert np.allclose(ratio, 1 / frame.scale, rtol=1e-4)
    variances = points.var(axis=0)
    assert (variances**2).sum() / variances.sum() == pytest.approx(1, rel=1e-3)
    weights = rng.normal(size=(3, 7)).astype(np.float32)
    assert np.allclose((vectors - frame.center) @ frame.input_weights(weights).T, points @ weights.T, atol=1e-2)


def test_a_frame_has_a_bounded_number_of_axes_and_refuses_what_float32_cannot_undo():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(40, MAX_AXES + 100)).astype(np.float32)
    assert len(measure_frame(wide, wide.mean(axis=0), principal=True).axes) <= 40
    with pytest.raises(InvalidInputError, match="which float32 projections cannot undo"):
        measure_frame(wide * np.float32(1e-35), np.zeros(wide.shape[1], np.float32), principal=True)


def test_the_chosen_sharpness_ranks_best():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(6, 20, 3))
    classes = rng.integers(0, 6, 300)
    scores = (centers[classes] + 1.5 * rng.normal(size=(300, 20, 3))).astype(np.float32)
    labels = (classes[:, None] == classes).astype(np.uint8)
    np.fill_diagonal(labels, IGNORED)
    hard = scores == scores.max(axis=2, keepdims=True)

    def precision(factor):
        shares = np.exp(factor * scores - (factor * scores).max(axis=2, keepdims=True))
        agreement = np.einsum("nsk,msk->nm", shares / shares.sum(axis=2, keepdims=True), hard)
        chosen = labels <= 1
        return _ranking.average_precision(-agreement[chosen], labels[chosen] == 1)

    chosen = best_sharpness(scores, labels)
    assert precision(chosen) > precision(chosen * 8)
    assert precision(chosen) > precision(chosen / 8) - 0.01

"""The training data of JRSH: a sample of the vectors, their frame, and the source of their labelled pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._types import F32
from ...similarity import MetricNeighbors, PairSource
from ...vectors import VectorBatches
from .._features.reduced import is_reduced
from ..training import Training, pairs_among, sample_rows, take_rows
from .frame import Frame, measure_frame

MAX_FLOATS = 1 << 28
"""Largest number of entries of the training vectors; of more vectors, a random sample is used."""

MAX_UNLABELED = 200_000
"""Largest number of vectors without labels; the mini-batches of all steps together hold about twice as many points."""

MIN_NEIGHBORS, POINTS_PER_NEIGHBOR = 50, 200
"""Default number of neighbours: one vector in 200 of 10 000 and more, 50 of fewer."""

HELD_OUT_SHARE, MAX_HELD_OUT = 10, 1000
"""One vector in 10 is held out, at most 1000; with 500, the recall of some sets was wrong by more than .01."""

MIN_CHECKED = 2000
"""Smallest number of vectors of which some are held out."""

MIN_SPREAD = 0.01
"""Lower limit of the spread of neighbours; a smaller one means that neighbours are copies."""


@dataclass(frozen=True)
class JointTraining:
    """Training vectors, the source of their labelled pairs, the frame of the vectors, and vectors that are held out."""

    vectors: F32
    source: PairSource
    frame: Frame
    held_out: F32 | None = None

    @property
    def neighbors(self) -> MetricNeighbors | None:
        """The source, if it is one of metric neighbours."""
        return self.source if isinstance(self.source, MetricNeighbors) else None

    @property
    def spread(self) -> float:
        """The spread of metric neighbours along an axis of the frame; 1 for other pairs."""
        return 1.0 if self.neighbors is None else max(self.neighbors.spread, MIN_SPREAD)


def joint_training(
    training: Training, rng: np.random.RandomState, max_points: int, n_neighbors: int | None, *, check: bool = False
) -> JointTraining:
    """The vectors to learn from, at most ``max_points`` unless pairs are given, and their labelled pairs.

    Without labels, pairs come from distances in the frame: ``n_neighbors`` per vector on average, fewer by the fraction
    of the sample. ``check`` (False by default) holds some of 2000 and more vectors out.
    """
    data, known = training.vectors, training.known_pairs("JRSH")
    center = data.mean()
    rows = sample_rows(rng, data.n_rows, _sample_size(known, data, max_points))
    vectors = data.whole() if len(rows) == data.n_rows else take_rows(data, rows)
    frame = measure_frame(vectors, center, principal=True)
    if known is not None:
        return JointTraining(vectors, pairs_among(known, rows), frame)
    held_out = None
    if check and len(vectors) >= MIN_CHECKED:
        apart = np.zeros(len(vectors), bool)
        apart[rng.choice(len(vectors), min(len(vectors) // HELD_OUT_SHARE, MAX_HELD_OUT), replace=False)] = True
        vectors, held_out = vectors[~apart], vectors[apart]
    neighbors = MetricNeighbors(
        frame.points(vectors),
        sampled_neighbors(n_neighbors, data.n_rows, len(vectors)),
        np.random.default_rng(rng.randint(2**31)),
        one_length=is_reduced(vectors, center),
    )
    return JointTraining(vectors, neighbors, frame, held_out)


def sampled_neighbors(n_neighbors: int | None, n_vectors: int, n_sampled: int) -> int:
    """Number of neighbours per vector within a sample, given ``n_neighbors`` of all ``n_vectors``.

    ``n_neighbors`` None stands for max(50, n_vectors / 200).

    >>> [sampled_neighbors(None, n, min(n, 10_000)) for n in (1000, 20_000, 100_000)], sampled_neighbors(30, 2000, 1000)
    ([50, 50, 50], 15)
    """
    wanted = max(MIN_NEIGHBORS, n_vectors // POINTS_PER_NEIGHBOR) if n_neighbors is None else n_neighbors
    return max(1, round(wanted * n_sampled / n_vectors))


def _sample_size(known: PairSource | None, data: VectorBatches, max_points: int) -> int:
    if known is not None and known.is_partial:
        return data.n_rows
    most = max_points if known is not None else min(max_points, MAX_UNLABELED)
    return max(3, min(most, MAX_FLOATS // data.n_features))

"""The schedule of joint learning: constants for each kind of labels, and the rate and sharpness of every step.

With t from 0 at the first step to 1 after the last:

* rate(t) = r (1 - t) / √d, with r the initial rate for a full batch or for mini-batches, and d the number of features
* sharpness(t) = first · (last / first)^t
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..training import Training

MAX_FULL_BATCH = 1500
"""Training sets up to this size are used whole in every step."""

PARTIAL_STEPS = 8
"""A batch of a stream that goes on with a model takes n_steps / 8 steps."""

MAX_SCARCE_NOISE = 0.7
"""Upper limit of the noise that follows from the number of points."""

MAX_ANCHORS = 2000
"""Default number of anchors; all vectors if there are fewer."""

CLASS_GAMMA = 3.0
"""Width of the RBF kernel with classes, if not all vectors are anchors."""

REGRESSED_GAMMAS, TRAINING_WEIGHT = (2.0, 4.0, 8.0), 1 / 3
"""With classes and all vectors as anchors: widths of the RBF kernel that are tried, and the weight of the training
error beside the leave-one-out error. Queries are unseen; the database may be unseen or learned from."""

MIN_RIDGE, MAX_RIDGE = 0.01, 0.1
"""With classes, the ridge of the whitening is √(anchors / vectors) / 10 within these limits."""

CLASS_ARITIES, FEW_CLASS_ARITIES = (8, 16, 4, 2), (4, 2)
"""With classes, ``arity="auto"`` is the first of these whose symbols fill the requested bits or bytes: with more than
2000 labels, and with fewer."""


@dataclass(frozen=True)
class Recipe:
    """Constants for one kind of labels and of start.

    The unit of ``noise`` is u and that of ``sharpness`` 1 / u. For classes, given pairs and RBF features u is 1, the
    typical standard deviation of a point. For metric neighbours it is their spread s = √(mean d² / 2k), d being the
    distances of similar points in k dimensions: noise must not hide neighbours, and soft codes must distinguish them.

    Attributes
    ----------
    arity : int
        Arity of ``arity="auto"``.
    n_steps : int
        Steps of a fit.
    full_rate, batch_rate : float
        Initial rate of Adam, if a step uses all points and if it uses a mini-batch.
    noise : float
        Standard deviation of the noise on the points of a large training set; see ``noise_for``.
    sharpness : tuple of float
        First and last sharpness of the soft codes.
    unit_rows : bool
        Whether projections are scaled to unit length after every step.
    metric : bool
        Whether u is the spread of metric neighbours.
    scarce_noise : float
        Noise if there are as many points as features; 0, the default, for the same noise everywhere.
    """

    arity: int
    n_steps: int
    full_rate: float
    batch_rate: float
    noise: float
    sharpness: tuple[float, float]
    unit_rows: bool
    metric: bool = False
    scarce_noise: float = 0.0

    def noise_for(self, n_points: int, n_features: int) -> float:
        """The noise for a number of points: without it, few points of many features are overfitted.

        It is √(d / n) · ``scarce_noise``, at least ``noise`` and at most 0.7 if ``scarce_noise`` is given.

        >>> [round(CLASSES.noise_for(n, 1000), 2) for n in (1000, 4000, 60_000)], NEIGHBORS.noise_for(10, 1000)
        ([0.7, 0.35, 0.09], 0.43)
        """
        wanted = min(MAX_SCARCE_NOISE, self.scarce_noise * (n_features / n_points) ** 0.5)
        return float(max(self.noise, wanted))


ROTATED = Recipe(2, 200, 0.2, 0.03, 0.43, (0.6, 2.0), unit_rows=True, metric=True)
"""For metric neighbours, from the projections of ITQ."""

NEIGHBORS = Recipe(2, 400, 0.6, 0.3, 0.43, (0.6, 2.0), unit_rows=True, metric=True)
"""For metric neighbours, from random projections."""

PAIRS = Recipe(2, 400, 0.6, 0.3, 0.2, (1.35, 4.5), unit_rows=True)
"""For given pairs, and for metric neighbours with RBF features."""

CLASSES = Recipe(8, 600, 0.6, 0.6, 0.05, (1.35, 4.5), unit_rows=False, scarce_noise=0.7)
"""For class labels."""


def recipe_for(training: Training, arity: int, features: str, target: str) -> Recipe:
    """The recipe for the arguments of ``fit``."""
    if training.y is not None:
        return CLASSES
    if training.similarity is not None or features == "rbf":
        return PAIRS
    return ROTATED if arity == 2 and target == "ranking" else NEIGHBORS


def features_for(training: Training, features: str) -> str:
    """``"linear"`` or ``"rbf"``; ``"auto"`` is ``"rbf"`` with classes."""
    if features != "auto":
        return features
    return "linear" if training.y is None else "rbf"


def _n_labels(y: Any) -> int:
    """The number of rows of labels of any form; 0 if they have none, which learning refuses with a sentence."""
    shape = getattr(y, "shape", None)
    if shape is None:
        return len(y) if hasattr(y, "__len__") else 0
    return int(shape[0]) if shape else 0


def anchors_for(features: str, n_anchors: int | None) -> int:
    """The number of anchors, 2000 if it is None; 0 for linear features."""
    if features == "linear":
        return 0
    return MAX_ANCHORS if n_anchors is None else n_anchors


def auto_arity(n_bits: int | None, y: Any, *, stream: bool = False) -> int:
    """The arity of ``arity="auto"`` for labels ``y``; ``n_bits`` is None if a number of symbols was requested.

    In a ``stream`` (False by default) it does not depend on the number of labels.

    >>> auto_arity(64, None), [auto_arity(bits, range(9)) for bits in (None, 64, 63)], auto_arity(64, range(9999))
    (2, [8, 4, 2], 16)
    """
    if y is None or n_bits is None:
        return 2 if y is None else CLASSES.arity
    tried = FEW_CLASS_ARITIES if not stream and _n_labels(y) <= MAX_ANCHORS else CLASS_ARITIES
    return next(arity for arity in tried if n_bits % (arity - 1).bit_length() == 0)


def ridge_for(n_points: int, n_anchors: int) -> float:
    """The ridge of the whitening with classes: few points of many anchors are overfitted without it.

    >>> [round(ridge_for(n, 1000), 3) for n in (500, 4000, 1_000_000)]
    [0.1, 0.05, 0.01]
    """
    return float(min(max(MIN_RIDGE, MAX_RIDGE * (n_anchors / n_points) ** 0.5), MAX_RIDGE))


@dataclass(frozen=True)
class Schedule:
    """The schedule of ``n_steps`` steps that follow ``first_step`` (0 by default) earlier ones."""

    n_steps: int
    rate: float
    noise: float
    sharpness: tuple[float, float]
    unit_rows: bool
    first_step: int = 0

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        n_steps: int | None,
        noise: float | None,
        unit: float,
        part: int,
        first_step: int,
        n_points: int,
        n_features: int,
        *,
        full: bool,
    ) -> Schedule:
        """The schedule of n_steps / ``part`` steps of a recipe whose unit u is ``unit``; None takes the recipe's own.

        ``full`` tells whether a step uses all points.
        """
        steps = -(-(recipe.n_steps if n_steps is None else n_steps) // part)
        rate = (recipe.full_rate if full else recipe.batch_rate) / np.sqrt(n_features)
        spread = (recipe.noise_for(n_points, n_features) if noise is None else noise) * unit
        first, last = recipe.sharpness
        return cls(steps, rate, spread, (first / unit, last / unit), recipe.unit_rows, first_step)

    def progress(self, step: int) -> float:
        """From 0 at the first step to 1 after the last one."""
        return (self.first_step + step) / (self.first_step + self.n_steps)

    def rate_at(self, step: int) -> float:
        """The rate of Adam at a step."""
        return self.rate * (1 - self.progress(step))

    def sharpness_at(self, step: int) -> float:
        """The sharpness of the soft codes at a step."""
        low, high = self.sharpness
        return float(low * (high / low) ** self.progress(step))

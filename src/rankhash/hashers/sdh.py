"""Supervised discrete hashing: bits for a linear classifier, learned without relaxation."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_integer, check_number
from .._types import F32, F64
from ..errors import InvalidInputError
from ..similarity import ClassLabels, LabelSets, label_source
from ._blocks import block_rows
from ._features.anchors import KernelHasher, RBFAnchors
from .base import Arrays
from .training import Training, sample_rows, take_rows

RIDGE = 1e-2
"""Ridge of the regression of bits on features."""

MAX_SWEEPS = 10
"""Largest number of sweeps over all bits per iteration."""

TOLERANCE = 1e-5
"""Learning stops when an iteration changes the loss by less than this fraction."""


class SDH(KernelHasher):
    """Binary codes from which a linear classifier predicts the classes.

    Three steps alternate [1]_: the least-squares classifier of the codes, the regression of the codes on kernel
    features of the vectors, and the codes themselves, one bit after another with the others fixed, in closed form.
    Learned from classes only: ``fit(X, y)``, with labels or a label indicator matrix.

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    n_anchors
        Number of anchors, random training vectors; 1000 by default.
    gamma
        Width of the kernel exp(-gamma d² / mean d²), with d the distance to the anchor; 2 by default.
    lam
        Ridge of the classifier, 1 by default.
    nu
        Weight of the distance between the codes and their regression on the features, 1e-5 by default.
    n_iterations
        Largest number of iterations of the three steps, 5 by default.
    max_points
        Largest number of vectors to learn from, 60 000 by default; of more, a random sample. Anchors and the mean of
        the features come from all vectors. Memory grows with max_points · n_anchors.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_ : ndarray (n_symbols, n_anchors)
        The weights of the features.
    bias_ : ndarray (n_symbols,)
        The mean of the learned codes.
    center_ : ndarray (n_anchors,)
        The mean of the features, which is subtracted from them.
    anchors_, scale_ : ndarray (n_anchors, n_features_in_), ndarray (1,)
        The anchors, and the factor of distances to them.
    history_ : dict of lists
        ``step`` and ``loss``: (|Y - BW|² + lam |W|² + nu |B - F|²) / n after each iteration. It is not saved.
    layout_, n_features_in_, feature_names_in_
        As for every hasher; codes have arity 2.

    References
    ----------
    .. [1] F. Shen, C. Shen, W. Liu, H. T. Shen, Supervised discrete hashing, CVPR 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = SDH(16, n_anchors=200, random_state=0).fit(X, y)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((1797, 16), (1797, 2))
    """

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        n_anchors: int = 1000,
        gamma: float = 2.0,
        lam: float = 1.0,
        nu: float = 1e-5,
        n_iterations: int = 5,
        max_points: int = 60_000,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.n_anchors = n_anchors
        self.gamma = gamma
        self.lam = lam
        self.nu = nu
        self.n_iterations = n_iterations
        self.max_points = max_points

    def _check_parameters(self) -> None:
        check_integer("n_anchors", self.n_anchors, 1, 100_000)
        check_number("gamma", self.gamma, 1e-6, 1e6)
        check_number("lam", self.lam, 1e-9, 1e9)
        check_number("nu", self.nu, 0, 1e9)
        check_integer("n_iterations", self.n_iterations, 1, 1_000_000)
        check_integer("max_points", self.max_points, 2, 2**31 - 1)

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        data = training.vectors
        if data.n_rows < 2:
            raise InvalidInputError("SDH learns to tell vectors apart, but there is 1 sample: n_samples=1")
        data.check()
        indicators = _indicators(training)
        rows = sample_rows(rng, data.n_rows, self.max_points)
        rbf = RBFAnchors(self.n_anchors, gamma=self.gamma, random_state=rng).fit(data)
        features = rbf.transform(take_rows(data, rows))
        codes = np.where(rng.standard_normal((len(rows), self._n_symbols)) > 0, np.float32(1), np.float32(-1))
        problem = Discrete(features, indicators[rows].astype(np.float32), self.lam, self.nu)
        weights, bias, losses = problem.solve(codes, self.n_iterations)
        self.history_ = {"step": list(range(len(losses))), "loss": losses}
        arrays: Arrays = {
            "projections_": rbf.kernel_weights(weights.T),
            "bias_": bias.astype(np.float32),
            "center_": rbf.mean_,
        }
        return arrays | {"anchors_": rbf.anchors_, "scale_": rbf.scale_}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class Discrete:
    """The problem min |Y - BW|² + lam |W|² + nu |B - F|² for codes B of ±1, classifiers W and fits F = KP + b."""

    def __init__(self, features: F32, classes: F32, lam: float, nu: float) -> None:
        self.features, self.classes, self.lam, self.nu = features, classes, lam, nu
        gram = _by_blocks(features, features)
        gram.flat[:: len(gram) + 1] += RIDGE
        self._gram = gram

    def solve(self, codes: F32, n_iterations: int) -> tuple[F64, F64, list[float]]:
        """The weights ``(m, n_bits)`` and bias ``(n_bits,)`` of F, and the losses; updates ``codes`` in place."""
        losses: list[float] = []
        weights, bias = self.regress(codes)
        for _ in range(n_iterations):
            classifier = self.classify(codes)
            fits = (self.features @ weights.astype(np.float32)) + bias.astype(np.float32)
            improve_codes(codes, self.classes, classifier.astype(np.float32), fits * np.float32(self.nu))
            weights, bias = self.regress(codes)
            losses.append(self.loss(codes, classifier, fits))
            if len(losses) > 1 and abs(losses[-2] - losses[-1]) <= TOLERANCE * losses[-1]:
                break
        return weights, bias, losses

    def classify(self, codes: F32) -> F64:
        """W ``(n_bits, n_classes)``: least squares of the classes on the codes, with a ridge of lam."""
        products = _by_blocks(codes, codes) + self.lam * np.eye(codes.shape[1])
        return np.linalg.solve(products, _by_blocks(codes, self.classes)).astype(np.float64)

    def regress(self, codes: F32) -> tuple[F64, F64]:
        """Weights ``(m, n_bits)`` and bias ``(n_bits,)``: least squares of the codes on the features."""
        weights = np.linalg.solve(self._gram, _by_blocks(self.features, codes))
        return weights.astype(np.float64), codes.mean(axis=0, dtype=np.float64)

    def loss(self, codes: F32, classifier: F64, fits: F32) -> float:
        """The objective divided by the number of vectors."""
        apart = self.classes - codes @ classifier.astype(np.float32)
        total = float(np.square(apart).sum(dtype=np.float64)) + self.lam * float(np.square(classifier).sum())
        return (total + self.nu * float(np.square(codes - fits).sum(dtype=np.float64))) / len(codes)


def improve_codes(codes: F32, classes: F32, classifier: F32, pull: F32) -> None:
    """Set every bit in turn to its best value given the others: sign(q - B'W'w) with w its row of the classifier.

    ``pull`` is nu F. The predictions BW are kept up to date, so that a bit costs n · n_classes.
    """
    wanted = classes @ classifier.T + pull
    predicted = codes @ classifier
    for _ in range(MAX_SWEEPS):
        n_changed = 0
        for bit, row in enumerate(classifier):
            before = codes[:, bit].copy()
            score = wanted[:, bit] - predicted @ row + before * (row @ row)
            codes[:, bit] = np.where(score > 0, np.float32(1), np.float32(-1))
            changed = np.flatnonzero(codes[:, bit] != before)
            predicted[changed] += (2 * codes[changed, bit])[:, None] * row
            n_changed += len(changed)
        if n_changed == 0:
            break


def _by_blocks(a: F32, b: F32) -> F64:
    """a'b, summed over blocks in double precision."""
    total = np.zeros((a.shape[1], b.shape[1]))
    step = block_rows(a.shape[1], b.shape[1])
    for start in range(0, len(a), step):
        total += a[start : start + step].T @ b[start : start + step]
    return total


def _indicators(training: Training) -> Any:
    """The label indicator matrix ``(n, n_classes)``."""
    if training.y is None:
        raise InvalidInputError(
            "SDH requires y to be passed, but the target y is None: it learns from classes; "
            "for pairs or distances take KSH or MLH"
        )
    source = label_source(training.y, training.similarity, training.vectors.n_rows)
    if isinstance(source, LabelSets):
        return source.indicators
    if not isinstance(source, ClassLabels):  # pragma: no cover - y gives no other source
        raise InvalidInputError("SDH learns from classes: pass y")
    return source.classes[:, None] == np.arange(int(source.classes.max()) + 1)

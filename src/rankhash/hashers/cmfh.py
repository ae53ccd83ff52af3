"""Collective matrix factorisation: the views share their latent components."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._checks import check_integer, check_number
from .._types import F64
from ._views.linear import view_points
from ._views.projections import ViewProjections
from ._views.training import ViewTraining
from .base import Arrays
from .views import ViewHasher


class CMFH(ViewHasher):
    """Binary codes: the signs of latent components that all views of an item share.

    Learned from paired rows, without labels [1]_. Minimises Σ λ |X - V U|² + μ |V - X P|² + γ (|U|² + |P|²) over the
    views X, plus γ |V|², with λ = 1 / n_views. V are the latent components of the items, U reconstructs a view from
    them, and P predicts them from a single view. The three are solved for in turn.

    Parameters
    ----------
    n_symbols, n_bits, n_bytes
        The size of a code, 1 to 4096 bits, in symbols, bits or bytes; 64 bits if all are None (the default).
    mu
        Weight μ of the projections, 100 by default.
    gamma
        Weight γ of the penalties, 0.01 by default.
    n_iterations
        Number of updates, 50 by default.
    max_points
        Largest number of items to learn from, 20 000 by default; of more, a random sample.
    random_state
        An integer for the same codes in every run, a RandomState, or None (the default).

    Attributes
    ----------
    projections_, center_
        A bit is 1 if ``projections_ · (x - center_)`` is positive; the columns of all views stand side by side, as
        ``widths_`` says.
    layout_, views_, n_features_, n_features_in_
        As for every hasher of several views.

    References
    ----------
    .. [1] G. Ding, Y. Guo, J. Zhou, Collective matrix factorization hashing for multimodal data, CVPR 2014.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, pictures, texts = rng.integers(0, 3, 300), rng.normal(size=(3, 8)), rng.normal(size=(3, 5))
    >>> X, Z = pictures[y] + rng.normal(size=(300, 8)) / 2, texts[y] + rng.normal(size=(300, 5)) / 2
    >>> hasher = CMFH(8, random_state=0).fit((X, Z))
    >>> hasher.encode(X, view=0).shape, hasher.encode(Z, view=1).shape
    ((300, 1), (300, 1))
    """

    _max_views: ClassVar[int] = 16

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        mu: float = 100.0,
        gamma: float = 0.01,
        n_iterations: int = 50,
        max_points: int = 20_000,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_symbols, n_bits=n_bits, n_bytes=n_bytes, random_state=random_state)
        self.mu = mu
        self.gamma = gamma
        self.n_iterations = n_iterations
        self.max_points = max_points

    def _check_parameters(self) -> None:
        check_number("mu", self.mu, 1e-9, 1e9)
        check_number("gamma", self.gamma, 1e-9, 1e9)
        check_integer("n_iterations", self.n_iterations, 1, 1_000_000)
        check_integer("max_points", self.max_points, 2, 2**31 - 1)

    def _learn_views(self, training: ViewTraining, rng: np.random.RandomState) -> tuple[list[ViewProjections], Arrays]:
        training.item_pairs()  # labels are not used, but checked
        parts, rows = view_points(training, rng, self.max_points)
        latent = rng.standard_normal((len(rows), self._n_symbols))
        views, ridge = [part.x for part in parts], self.gamma / self.mu
        inverses = [np.linalg.inv(x.T @ x + ridge * np.eye(x.shape[1])) @ x.T for x in views]
        losses = []
        for _ in range(self.n_iterations):
            bases = self._bases(latent, views)
            projections = [inverse @ latent for inverse in inverses]
            latent = self._latent(views, bases, projections)
            losses.append(self._loss(views, latent, bases, projections))
        self.history_ = {"step": list(range(self.n_iterations)), "loss": losses}
        projections = [inverse @ latent for inverse in inverses]
        return [part.projections(weights.T) for part, weights in zip(parts, projections, strict=True)], {}

    def _bases(self, latent: F64, views: list[F64]) -> list[F64]:
        """U of every view for given V."""
        share = 1 / len(views)
        gram = latent.T @ latent + self.gamma / share * np.eye(latent.shape[1])
        return [np.linalg.solve(gram, latent.T @ x) for x in views]

    def _latent(self, views: list[F64], bases: list[F64], projections: list[F64]) -> F64:
        """V for given U and P."""
        share, size = 1 / len(views), bases[0].shape[0]
        gram = (self.mu * len(views) + self.gamma) * np.eye(size) + share * sum(u @ u.T for u in bases)
        wanted = sum(share * x @ u.T + self.mu * x @ p for x, u, p in zip(views, bases, projections, strict=True))
        solved: F64 = np.linalg.solve(gram, np.asarray(wanted).T).T
        return solved

    def _loss(self, views: list[F64], latent: F64, bases: list[F64], projections: list[F64]) -> float:
        """The objective per item."""
        total = self.gamma * np.square(latent).sum()
        for x, u, p in zip(views, bases, projections, strict=True):
            total += np.square(x - latent @ u).sum() / len(views) + self.mu * np.square(latent - x @ p).sum()
            total += self.gamma * (np.square(u).sum() + np.square(p).sum())
        return float(total) / len(latent)

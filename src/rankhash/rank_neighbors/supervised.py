"""Classes and numbers from neighbours: `RankNeighborsClassifier` and `RankNeighborsRegressor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._checks import check_choice
from .._types import F64
from ..errors import InvalidInputError
from ..hashers import Hasher
from ..vectors import as_vectors
from .estimators import RankNeighbors

if TYPE_CHECKING:
    from typing_extensions import Self

WEIGHTS = ("uniform", "distance")


class _Supervised(RankNeighbors):
    """The base of the supervised estimators: neighbours with weights."""

    def __init__(
        self,
        hasher: Hasher | None = None,
        *,
        weights: str = "uniform",
        metric: str = "euclidean",
        recall: float = 0.95,
        n_neighbors: int = 5,
        radius: float = 1.0,
        rerank: int = 0,
        index: str = "lookup",
        n_threads: int | None = None,
    ) -> None:
        super().__init__(
            hasher,
            metric=metric,
            recall=recall,
            n_neighbors=n_neighbors,
            radius=radius,
            rerank=rerank,
            index=index,
            n_threads=n_threads,
        )
        self.weights = weights

    def _neighbors(self, X: Any) -> tuple[NDArray[np.int64], F64]:
        """Rows of the nearest fitted vectors, and their weights, which sum to 1 per query."""
        check_is_fitted(self)
        distances, rows = self.kneighbors(X)
        if self.weights == "uniform":
            return np.asarray(rows), np.full(rows.shape, 1 / rows.shape[1])
        distances = np.asarray(distances, np.float64)
        same = distances == 0
        with np.errstate(divide="ignore"):
            weights = np.where(same.any(axis=1, keepdims=True), same, 1 / distances)
        return np.asarray(rows), weights / weights.sum(axis=1, keepdims=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class RankNeighborsClassifier(ClassifierMixin, _Supervised):  # type: ignore[misc]
    """The majority class of the nearest neighbours, with the interface of ``sklearn.neighbors.KNeighborsClassifier``.

    The other parameters are those of [`RankNeighbors`][rankhash.RankNeighbors]. A hasher learns from the classes.

    Parameters
    ----------
    weights
        ``"uniform"`` (default): every neighbour has one vote; ``"distance"``: votes count by the inverse distance.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted; the columns of ``predict_proba``.

    Examples
    --------
    >>> from rankhash import RankNeighborsClassifier
    >>> model = RankNeighborsClassifier(n_neighbors=1).fit([[0, 0], [1, 1]], ["left", "right"])
    >>> model.predict([[0.9, 0.8]])
    array(['right'], dtype='<U5')
    """

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]  # targets are needed here
        """The classifier itself, fitted to the vectors ``X`` and their classes ``y``."""
        check_choice("weights", self.weights, WEIGHTS)
        _check_given(type(self).__name__, y)
        assert_all_finite(np.asarray(y), input_name="y")
        check_classification_targets(y)
        classes, targets = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        _check_length(type(self).__name__, X, targets)
        super().fit(X, y)
        self.classes_, self._targets = classes, targets
        return self

    def predict_proba(self, X: Any) -> F64:
        """The fraction of the votes for every class, ``(n, n_classes)``."""
        rows, weights = self._neighbors(X)
        votes = np.zeros((len(rows), len(self.classes_)))
        np.add.at(votes, (np.arange(len(rows))[:, None], self._targets[rows]), weights)
        return votes

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with most votes; of several, the first in ``classes_``."""
        votes = self.predict_proba(X)
        return np.asarray(self.classes_[votes.argmax(axis=1)])


class RankNeighborsRegressor(RegressorMixin, _Supervised):  # type: ignore[misc]
    """The mean target of the nearest neighbours, with the interface of ``sklearn.neighbors.KNeighborsRegressor``.

    The other parameters are those of [`RankNeighbors`][rankhash.RankNeighbors]. A hasher is fitted without the targets.

    Parameters
    ----------
    weights
        ``"uniform"`` (default): the plain mean; ``"distance"``: weighted by the inverse distance.

    Examples
    --------
    >>> from rankhash import RankNeighborsRegressor
    >>> RankNeighborsRegressor(n_neighbors=2).fit([[0], [1], [9]], [0.0, 1.0, 9.0]).predict([[0.5]])
    array([0.5])
    """

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]  # targets are needed here
        """The regressor itself, fitted to the vectors ``X`` and their targets ``y``, one or several per vector."""
        check_choice("weights", self.weights, WEIGHTS)
        _check_given(type(self).__name__, y)
        _check_length(type(self).__name__, X, y)
        if np.asarray(y).dtype.kind == "c":
            raise InvalidInputError("Complex data not supported: y must hold real numbers")
        targets = np.asarray(y, np.float64)
        if targets.ndim not in (1, 2) or not np.isfinite(targets).all():
            raise InvalidInputError(
                f"y must hold finite numbers, (n,) or (n, n_targets), got the shape {targets.shape}"
            )
        super().fit(X)
        self._targets = targets
        return self

    def predict(self, X: Any) -> F64:
        """The mean target of the neighbours, ``(n,)`` or ``(n, n_targets)`` as in ``fit``."""
        rows, weights = self._neighbors(X)
        return np.asarray(np.einsum("nk,nk...->n...", weights, self._targets[rows]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _check_length(owner: str, X: Any, y: Any) -> None:
    """Raise if there is not one target for each vector."""
    n, n_targets = len(as_vectors(X, owner=owner)), len(np.asarray(y))
    if n_targets != n:
        raise InvalidInputError(f"y must have one entry for each of {n} vectors, got {n_targets}")


def _check_given(owner: str, y: Any) -> None:
    if y is None:
        raise InvalidInputError(f"{owner} requires y to be passed, but the target y is None")

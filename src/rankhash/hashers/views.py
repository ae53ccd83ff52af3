"""Hashers of several views of the same items, such as pictures and texts: the codes of all views have one layout.

::

    fit((X, Z), y) ─▶ _learn_views(training, rng) ─▶ ViewProjections per view ─▶ learned arrays, side by side
    Z ─▶ encode(Z, view=1) ─▶ ViewEncoder of view 1 ─▶ codes that are compared with those of every other view
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import _ranking
from .._types import F32, U8
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..vectors import VectorBatches, batches
from ._views.projections import (
    MAX_NAME,
    MAX_VIEWS,
    ViewEncoder,
    ViewProjections,
    join_views,
    names_as_bytes,
    names_fit,
    names_from_bytes,
    split_views,
    views_fit,
)
from ._views.training import ViewTraining
from .base import Arrays, Hasher
from .parameters import as_random_state
from .training import Training

if TYPE_CHECKING:
    from typing_extensions import Self


class ViewHasher(Hasher):
    """The base class of methods that hash several views of the same items into codes of one layout.

    ``fit`` is given one array per view; row i of every view belongs to item i. The codes of different views can be
    compared: a text finds pictures. ``view`` is the place of a view, or its name if ``fit`` was given a dict.

    Attributes
    ----------
    views_ : tuple of str
        The names of the views; ``"0"``, ``"1"``, … if ``fit`` was given none.
    n_features_ : tuple of int
        Number of columns of each view. ``n_features_in_`` is that of the first view.
    projections_ : ndarray (rows, widths)
        The projections of all views side by side.
    layout_ : CodeLayout
        The layout of the codes of all views, with the fingerprint of this hasher.

    Examples
    --------
    >>> from rankhash.hashers import LSRH
    >>> rng = np.random.default_rng(0)
    >>> y, pictures, texts = rng.integers(0, 3, 300), rng.normal(size=(3, 8)), rng.normal(size=(3, 5))
    >>> X, Z = pictures[y] + rng.normal(size=(300, 8)) / 2, texts[y] + rng.normal(size=(300, 5)) / 2
    >>> hasher = LSRH(8, random_state=0).fit({"picture": X, "text": Z}, y)
    >>> isinstance(hasher, ViewHasher), hasher.views_
    (True, ('picture', 'text'))
    >>> hasher.encode(X, view="picture").shape, hasher.encode(Z, view=1).shape
    ((300, 2), (300, 2))
    """

    views_: tuple[str, ...]
    n_features_: tuple[int, ...]
    _encoders: list[ViewEncoder]

    _code_arrays: ClassVar[tuple[str, ...]] = ("projections_", "bias_", "center_", "anchors_", "scale_", "widths_")
    _side_arrays: ClassVar[tuple[str, ...]] = ("names_",)
    _max_views: ClassVar[int] = MAX_VIEWS
    """Largest number of views that the method learns from."""

    @abstractmethod
    def _learn_views(self, training: ViewTraining, rng: np.random.RandomState) -> tuple[list[ViewProjections], Arrays]:
        """The encoder of each view, and the side arrays by name. It must read every batch of every view."""

    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        assert isinstance(training, ViewTraining)
        views, side = self._learn_views(training, rng)
        return join_views(views) | side | {"names_": names_as_bytes(list(training.names))}

    def fit(self, X: Any, y: Any = None, *, similarity: Any = None) -> Self:
        """The hasher itself, fitted to several views of the same items.

        Parameters
        ----------
        X
            Two or more arrays of vectors ``(n, d)`` with the same number of rows, as a tuple or list, or as a dict
            from the views' names to arrays. Row i of every view belongs to item i.
        y
            Class labels ``(n,)`` of the items or a label indicator matrix ``(n, n_labels)``; None by default. Methods
            that do not learn from labels ignore it.
        similarity
            Given pairs of items, as a matrix ``(n, n)`` or rows ``(i, j, s)``; None by default. Ignored likewise.
        """
        layout = self._layout(y)
        self._check_parameters()
        rng = as_random_state(self.random_state)
        names, views = self._open_views(X)
        arrays = self._learn_arrays(ViewTraining(views[0], y, similarity, views, tuple(names)), rng, layout)
        self._adopt(arrays, layout, views[0].n_features, None)
        return self

    def _open_views(self, X: Any) -> tuple[list[str], tuple[VectorBatches, ...]]:
        """The names and vectors of the views; raises unless they are views of the same items."""
        owner = type(self).__name__
        if not isinstance(X, (list, tuple, Mapping)) or not 2 <= len(X) <= self._max_views:
            count = "two arrays" if self._max_views == 2 else f"two to {self._max_views} arrays"
            raise InvalidInputError(f"{owner} learns from {count} of vectors, one per view: fit((X, Z), …)")
        names = list(X) if isinstance(X, Mapping) else [str(place) for place in range(len(X))]
        if not names_fit(names):
            raise InvalidInputError(f"names of views must be different texts of 1 to {MAX_NAME} characters: {names}")
        parts = X.values() if isinstance(X, Mapping) else X
        views = tuple(batches(part, name=f"view {name}", owner=owner) for name, part in zip(names, parts, strict=True))
        sizes = [view.n_rows for view in views]
        if len(set(sizes)) > 1:
            raise InvalidInputError(f"every item has one row in every view, but the views have {sizes} rows")
        if sizes[0] < 2:
            raise InvalidInputError(f"{owner} learns from pairs, but there is 1 sample: n_samples=1")
        return names, views

    def _adopt(self, arrays: Arrays, layout: CodeLayout, n_features: int, names: NDArray[Any] | None) -> None:
        super()._adopt(arrays, layout, n_features, names)
        views = split_views({name: np.asarray(array) for name, array in arrays.items()})
        self.views_ = tuple(names_from_bytes(arrays["names_"]))
        self.n_features_ = tuple(view.n_features for view in views)
        owners = [f"view {name} of {type(self).__name__}" for name in self.views_]
        learned = arrays.get("sharpness_"), arrays.get("weights_")
        self._encoders = [ViewEncoder(o, self.layout_, view, *learned) for o, view in zip(owners, views, strict=True)]

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        if "names_" not in arrays or not views_fit(arrays, layout, n_features):
            return False
        names = names_from_bytes(arrays["names_"])
        return names_fit(names) and len(names) == len(arrays["widths_"])

    def view_hasher(self, view: int | str) -> Hasher:
        """A hasher of one view, by its place or name: its ``encode`` and ``score_tables`` take vectors of that view."""
        place = self.view_place(view)
        return self._encoders[place]

    def view_place(self, view: int | str) -> int:
        """The place of a view, 0, 1, …, given its place or its name."""
        check_is_fitted(self)
        if isinstance(view, str) and view in self.views_:
            return self.views_.index(view)
        if isinstance(view, (int, np.integer)) and not isinstance(view, bool) and 0 <= view < len(self.views_):
            return int(view)
        known = ", ".join(map(repr, self.views_))
        raise InvalidInputError(
            f"view must be a place from 0 to {len(self.views_) - 1} or one of {known}, got {view!r}"
        )

    def transform(self, X: Any, *, view: int | str = 0) -> U8:
        """The symbols ``(n, n_symbols)`` of vectors ``X`` of the view ``view``: 0, the first, by default."""
        codes = self.encode(X, view=view)
        return self.layout_.unpack(codes)

    def fit_transform(self, X: Any, y: Any = None, *, similarity: Any = None) -> tuple[U8, ...]:
        """The symbols of every view, after ``fit``; the parameters are those of ``fit``."""
        _, views = self.fit(X, y, similarity=similarity)._open_views(X)
        return tuple(self.transform(part.array, view=place) for place, part in enumerate(views))

    def encode(self, X: Any, *, view: int | str = 0, n_threads: int | None = None) -> U8:
        """The codes ``(n, n_bytes)`` of vectors of one view.

        Parameters
        ----------
        X
            Vectors ``(n, n_features)`` of the view; they are read in batches of a few megabytes.
        view
            The place of the view or its name; 0, the first, by default.
        n_threads
            Number of threads, 1 or more; None (the default) uses all cores.
        """
        return self.view_hasher(view).encode(X, n_threads=n_threads)

    def score_tables(self, Q: Any, *, view: int | str = 0) -> F32:
        """Distances ``(n_queries, n_symbols, arity)`` of queries of one view to each value of each symbol.

        They serve searches among codes of any view; ``view`` is 0, the first, by default.
        """
        return self.view_hasher(view).score_tables(Q)

    def score(self, X: Any, y: Any = None, *, similarity: Any = None) -> float:
        """The average precision, 0 to 1, of similar pairs across views, ranked by the distance of their codes.

        It is the mean over every two views. Pairs are those of up to 1000 items, or 500 000 random ones of more.

        Parameters
        ----------
        X
            The views, as for ``fit``.
        y, similarity
            Which items are similar, as for ``fit``. If both are None (the default), the rows of one item are.
        """
        names, views = self._open_views(X)
        source = ViewTraining(views[0], y, similarity, views, tuple(names)).item_pairs()
        n = views[0].n_rows
        pairs = _ranking.some_pairs(np.random.default_rng(0), n)
        selves = np.repeat(np.arange(n, dtype=pairs.dtype)[:, None], 2, axis=1)
        labels = np.concatenate([source.labels_of(pairs), np.ones(n, np.int8)])
        pairs = np.concatenate([pairs, selves])[labels >= 0] + np.array([0, n], pairs.dtype)
        symbols = [self.transform(part.array, view=place) for place, part in enumerate(views)]
        values = [
            _ranking.average_precision(_ranking.pair_distances(np.concatenate(both), pairs), labels[labels >= 0] == 1)
            for both in combinations(symbols, 2)
        ]
        return float(np.mean(values))

"""Joint rank subspace hashing: all functions are learned together, on what is searched for."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..codes import CodeLayout
from ..errors import InvalidInputError
from ._history import plot_curves
from ._joint import effective_symbols
from ._joint_hasher import JointHasher
from ._pairs import Callback
from ._parameters import check_flag, check_integer, check_number
from ._recipes import CLASSES, NEIGHBORS, Recipe
from ._refinement import Refinement

CHOICES = {
    "objective": ("pairs", "reconstruction"),
    "target": ("ranking", "radius"),
    "features": ("linear", "rbf"),
}


class JRSH(JointHasher):
    """Codes whose symbols tell which of a few learned projections is the largest, all of them learned together.

    Symbols are made soft, p = softmax(sharpness · scores), so that the agreement of two points, the expected number
    of equal symbols, has a gradient. It is made to rank similar pairs first, while symbols become hard. At equal
    bits the codes rank neighbours better than those of the other methods on nearly all data that was tried; with
    classes, ``features="rbf"`` makes them far better.

    Parameters
    ----------
    n_symbols
        Functions, and so symbols of a code, 1 to 4096.
    arity
        Projections that compete for a symbol, 2 to 16. ``"auto"``: 8 if ``fit`` is given classes, else 2, which is
        best for a given number of bits; 16 to reconstruct.
    objective
        ``"pairs"``: codes of similar vectors are alike, what the next six parameters are about.
        ``"reconstruction"``: vectors can be decoded from codes, which finds more of the nearest vectors in a scan with
        :meth:`score_tables`, but makes codes that are worse to compare with each other. What is known of the vectors'
        similarity is ignored. ``n_symbols * arity`` is at most 4096.
    refine
        To reconstruct: 0 makes symbols of winners; with 1 or more, :meth:`encode` goes on to improve them together so
        many times (8 is plenty), which takes tens of microseconds a vector. They are no longer an argmax then.
    target
        ``"ranking"``: similar vectors come first. From neighbours and given pairs, the average precision is made
        large; from classes, the likelihood. ``"radius"``: the precision within a Hamming ball, for look-ups in hash
        tables; empty balls count as 0. With 32 bits or more, an arity of 4 to 16 is better for that than 2.
    radius
        The radius of that ball, in symbols.
    features
        ``"linear"``: projections of the vectors. ``"rbf"``: of whitened features that tell how near the vectors are
        to some of them, which separates classes better and makes encoding slower.
    n_anchors
        How many vectors those are.
    n_neighbors
        Without labels, vectors are similar if their distance is at most that which gives a vector so many others
        on average, among more than 50,000 vectors at least a thousandth of them; with more than 1500, those that are
        close for where they are count as well.
    n_steps
        Steps of learning; None stands for 400, for 600 with classes.
    batch_size
        Points that a step looks at, if there are more than 1500.
    noise
        How far points are moved at random in every step, in usual deviations along a direction; it keeps codes
        from clinging to the training points. None stands for 0.2, for 0.05 with classes.
    max_points
        From more vectors than this, or 2²⁸ numbers, a random sample is learned from; without labels from 200,000 at
        most, since the steps see no more.
    random_state
        An integer for the same codes in every run, a RandomState, or None.
    callback
        Called some times with a dict: step, value, average_precision, balance, sharpness.
    verbose
        Whether a bar is shown on a terminal if learning takes longer than a second.

    Attributes
    ----------
    projections_, bias_, center_
        A symbol is the argmax of ``projections_ · (x - center_) + bias_`` over its rows; for arity 2 there is one row
        a symbol, which is 1 if that is positive. With ``features="rbf"``, x stands for the features.
    anchors_, scale_
        The anchors of the features, and the scale of distances to them; None for linear features.
    sharpness_ : ndarray (1,)
        What scores are multiplied with before the softmax of :meth:`score_tables`, chosen on the training points.
    balance_ : ndarray (n_symbols, arity)
        The share of training points that has each value of each symbol.
    decoder_ : ndarray (n_symbols * arity, n_features_in_)
        To reconstruct: a vector is about ``center_`` plus one of the rows for each symbol (:meth:`decode`).
    lengths_ : ndarray (n_symbols * arity,)
        What the rows add to the squared length of that sum, as :meth:`score_tables` takes it.
    crossing_, refinement_
        What refined symbols are found with; None without ``refine``.
    history_ : dict of lists
        The course of learning: ``step``, ``value`` of the objective, ``average_precision`` of hard codes,
        ``balance`` (values in use), ``sharpness``; to reconstruct, ``step`` and ``error``, the mean squared error in
        units of the variance. It is not saved.
    layout_, n_features_in_, feature_names_in_
        As for every hasher.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = JRSH(32, n_steps=40, random_state=0).fit(X)
    >>> hasher.transform(X).shape, hasher.encode(X).shape
    ((1797, 32), (1797, 4))
    >>> JRSH(8, n_steps=40, features="rbf", n_anchors=100, random_state=0).fit(X, y).layout_.arity
    8
    """

    def __init__(
        self,
        n_symbols: int = 64,
        arity: int | str = "auto",
        *,
        objective: str = "pairs",
        refine: int = 0,
        target: str = "ranking",
        radius: int = 2,
        features: str = "linear",
        n_anchors: int = 1000,
        n_neighbors: int = 50,
        n_steps: int | None = None,
        batch_size: int = 1024,
        noise: float | None = None,
        max_points: int = 1_000_000,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: bool = True,
    ) -> None:
        self.n_symbols = n_symbols
        self.arity = arity
        self.objective = objective
        self.refine = refine
        self.target = target
        self.radius = radius
        self.features = features
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.noise = noise
        self.max_points = max_points
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _check_parameters(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise InvalidInputError(
                    f"{name} must be {' or '.join(map(repr, choices))}, got {getattr(self, name)!r}"
                )
        if self.objective == "reconstruction" and self.features == "rbf":
            raise InvalidInputError("objective='reconstruction' takes features='linear' only")
        check_integer("refine", self.refine, 0, Refinement.MOST)
        check_integer("radius", self.radius, 0, 4096)
        check_integer("n_anchors", self.n_anchors, 2, 100_000)
        check_integer("n_neighbors", self.n_neighbors, 1, 2**31 - 1)
        check_integer("batch_size", self.batch_size, 16, 20_000)
        check_integer("max_points", self.max_points, 3, 2**31 - 1)
        check_flag("verbose", self.verbose)
        if self.n_steps is not None:
            check_integer("n_steps", self.n_steps, 1, 10_000_000)
        if self.noise is not None:
            check_number("noise", self.noise, 0, 1e6)
        if self.callback is not None and not callable(self.callback):
            raise InvalidInputError(f"callback must be a function or None, got {self.callback!r}")

    def _layout(self, y: Any) -> CodeLayout:
        if isinstance(self.arity, str) and self.arity != "auto":
            raise InvalidInputError(f"arity must be an integer from 2 to 16 or 'auto', got {self.arity!r}")
        auto = 16 if self.objective == "reconstruction" else self._recipe(y).arity
        return CodeLayout(self.n_symbols, auto if isinstance(self.arity, str) else self.arity)

    def _recipe(self, y: Any) -> Recipe:
        return NEIGHBORS if y is None else CLASSES

    def report(self) -> str:
        """A table of the learned functions, one a line.

        ``effective`` is the number of values that are really in use (the exponential of their entropy), ``symbols``
        the share of training points that has each of them, in per cent.
        """
        check_is_fitted(self)
        lines = [f"{type(self).__name__}: {self.layout_.n_symbols} symbols of arity {self.layout_.arity}"]
        lines.append("function  effective  symbols %")
        used = effective_symbols(self.balance_)
        for function, shares in enumerate(self.balance_):
            percent = " ".join(f"{100 * share:.0f}" for share in shares)
            lines.append(f"{function:8d}  {used[function]:9.2f}  {percent}")
        lines.append(f"    mean  {used.mean():9.2f}")
        return "\n".join(lines)

    def plot_history(self) -> Any:
        """The course of learning as a plotly figure: the objective, the precision of hard codes, balance.

        It needs plotly (``pip install rankhash[report]``) and a hasher that was fitted here, not one from a file.
        """
        check_is_fitted(self)
        if not hasattr(self, "history_"):
            raise InvalidInputError("the course of learning is not saved with a hasher; fit it to see it")
        return plot_curves(self.history_, type(self).__name__)

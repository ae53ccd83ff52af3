"""The contract of all hashers: :class:`Hasher`, a scikit-learn transformer that turns vectors into symbols.

::

    fit ─▶ _learn(training, rng) ─▶ learned arrays ─▶ layout_ with the fingerprint of the arrays
    X ─▶ encode ─▶ batches ─▶ _encode_batch ─▶ codes            transform = layout_.unpack(encode(X))
    Q ─▶ score_tables ─▶ _scores ─▶ max - score                 save = arrays + parameters, no pickle

A method is one file with a subclass that stores its parameters, checks them in ``_check_parameters``, and
returns its arrays from ``_learn``. One with projections needs nothing more; others replace ``_features``, or
``_encode_batch`` and ``_scores``. Whatever determines the codes must be one of ``_code_arrays``, also a
single number: the fingerprint is made of these.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _files, _kernels, _ranking
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..similarity import pair_source
from ..vectors import VectorBatches, batches
from ._parameters import as_random_state, storable

if TYPE_CHECKING:
    from typing_extensions import Self

U8 = NDArray[np.uint8]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Training:
    """What ``fit`` was given: the vectors, and what is known of their similarity."""

    vectors: VectorBatches
    y: Any
    similarity: Any


class Hasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What every hasher does; the methods are its subclasses.

    ``transform`` follows :meth:`set_output`, so that a pipeline can hand out frames of symbols; ``encode``
    and ``score_tables`` always return arrays.

    Attributes
    ----------
    layout_ : CodeLayout
        The layout of the codes, with the fingerprint of this hasher.
    n_features_in_ : int
        Columns of the vectors that were fitted.
    feature_names_in_ : ndarray of str
        Their names, if the vectors came as a frame with names.

    Examples
    --------
    >>> from rankhash.hashers import LSH
    >>> hasher = LSH(8, random_state=0).fit([[1, 2, 3], [3, 1, 2]])
    >>> isinstance(hasher, Hasher), hasher.score_tables([[1, 2, 3]]).shape
    (True, (1, 8, 2))
    """

    arity: int = 2
    n_symbols: int
    random_state: Any
    layout_: CodeLayout
    n_features_in_: int
    projections_: F32
    bias_: F32 | None = None
    center_: F32 | None = None

    _code_arrays: ClassVar[tuple[str, ...]] = ("projections_", "bias_", "center_")
    """Learned arrays that determine the codes; one that is None is left out."""

    _side_arrays: ClassVar[tuple[str, ...]] = ()
    """Learned arrays that are saved as well but leave the codes as they are, such as weights."""

    @abstractmethod
    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        """The learned arrays by name; every batch of the vectors must be read, which checks it."""

    def _layout(self, y: Any) -> CodeLayout:  # noqa: ARG002
        """The layout of the codes that a fit will give; it may depend on whether there are classes."""
        return CodeLayout(self.n_symbols, self.arity)

    def _check_parameters(self) -> None:
        """Raise InvalidInputError if a parameter other than n_symbols, arity and random_state is wrong."""

    def _features(self, batch: F32) -> F32:
        """What the projections are applied to: the vectors themselves, or a map of them."""
        return batch

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:
        """The codes of one batch, and its first row that is not finite, or -1."""
        features, layout = self._features(batch), self.layout_
        learned = (self.projections_, self.bias_, self.center_)
        return _kernels.encode(features, *learned, layout.n_symbols, layout.arity, n_threads)

    def _scores(self, vectors: F32) -> F64:
        """The real values ``(n, n_symbols, arity)`` whose largest one makes each symbol.

        Every vector is multiplied on its own, so that its scores do not depend on those that come along.
        """
        points = self._features(vectors).astype(np.float64)
        if self.center_ is not None:
            points -= self.center_
        scores = (self.projections_.astype(np.float64) @ points[:, :, None])[:, :, 0]
        if self.bias_ is not None:
            scores += self.bias_
        if scores.shape[1] == self.layout_.n_symbols:
            return np.stack([np.zeros_like(scores), scores], axis=2)
        return scores.reshape(len(vectors), self.layout_.n_symbols, self.layout_.arity)

    def _fits(self, arrays: Arrays, layout: CodeLayout, n_features: int) -> bool:
        """Whether arrays from a file have the types, shapes and values that the kernels rely on."""
        projections = arrays.get("projections_", np.empty(0))
        rows = (layout.n_symbols * layout.arity, layout.n_symbols if layout.arity == 2 else -1)
        return (
            projections.ndim == 2
            and len(projections) in rows
            and projections.shape[1] == n_features
            and arrays.get("bias_", projections[:, 0]).shape == projections.shape[:1]
            and arrays.get("center_", projections[0]).shape == projections.shape[1:]
            and all(array.dtype == np.float32 and np.isfinite(array).all() for array in arrays.values())
        )

    def fit(self, X: Any, y: Any = None, *, similarity: Any = None) -> Self:
        """The hasher itself, after it has learned how to hash vectors like those of ``X``.

        Parameters
        ----------
        X
            Vectors ``(n, d)``: whatever :func:`rankhash.vectors.as_vectors` takes.
        y, similarity
            What is known of the vectors' similarity; ignored by methods that do not learn from it.
        """
        layout = self._layout(y)
        self._check_parameters()
        rng = as_random_state(self.random_state)
        data = batches(X, owner=type(self).__name__)
        names = _feature_names(X)
        arrays = self._learn(Training(data, y, similarity), rng)
        self._adopt(arrays, layout, data.n_features, names)
        return self

    def _adopt(self, arrays: Arrays, layout: CodeLayout, n_features: int, names: NDArray[Any] | None) -> None:
        """Take over all that was learned at once, so that a fit that fails leaves the hasher as it was."""
        arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        for name in (*self._code_arrays, *self._side_arrays):
            setattr(self, name, arrays.get(name))
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names
        self.layout_ = replace(layout, fingerprint=self._fingerprint(arrays, layout))

    def _fingerprint(self, arrays: Arrays, layout: CodeLayout) -> str:
        facts = [type(self).__name__, layout.n_symbols, layout.arity, self.n_features_in_]
        digest = hashlib.sha256(repr(facts).encode())
        for name in sorted(arrays.keys() & {*self._code_arrays}):
            digest.update(repr((name, arrays[name].dtype.str, arrays[name].shape)).encode())
            digest.update(arrays[name].tobytes())
        return digest.hexdigest()[:16]

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that name what determines the codes: equal ones mean equal codes."""
        check_is_fitted(self)
        return self.layout_.fingerprint

    def transform(self, X: Any) -> U8:
        """The symbols ``(n, n_symbols)`` of ``X``, each from 0 to arity - 1."""
        codes = self.encode(X)
        return self.layout_.unpack(codes)

    def encode(self, X: Any, *, n_threads: int | None = None) -> U8:
        """The codes ``(n, n_bytes)`` of ``X``: its symbols, packed as :class:`~rankhash.CodeLayout` tells.

        ``X`` is read a few megabytes at a time; ``n_threads`` is 1 or more, or None for all cores.
        """
        data = self._open(X)
        n_threads = _kernels.resolve_threads(n_threads)
        codes = np.empty((data.n_rows, self.layout_.n_bytes), np.uint8)
        for start, batch in data.unchecked():
            codes[start : start + len(batch)], bad = self._encode_batch(batch, n_threads)
            if bad >= 0:
                data.refuse(start + bad)
        return codes

    def score_tables(self, Q: Any) -> F32:
        """Distances ``(n_queries, n_symbols, arity)`` of the queries ``Q`` to each value of each symbol.

        A query is 0 away from its own symbol, and from any other by how far that one's score lies behind. Its
        distance to a code is the sum over the code's symbols, which ``search_tables`` of an index adds up.
        """
        scores = self._scores(self._open(Q, name="Q").whole())
        tables: F64 = np.minimum(scores.max(axis=2, keepdims=True) - scores, np.finfo(np.float32).max)
        return tables.astype(np.float32)

    def score(self, X: Any, y: Any = None, *, similarity: Any = None) -> float:
        """The average precision, 0 to 1, with which distances of codes find the similar pairs among ``X``.

        It is the area under the curve of precision over recall, one point a radius, over all pairs of up to
        1000 vectors, or 500 000 pairs of more. Similar are the pairs that ``similarity`` or ``y`` say, else
        the ``n_neighbors`` (50, if the hasher has no such parameter) nearest on average.
        """
        data = self._open(X)
        vectors, rng = data.whole(), np.random.default_rng(0)
        if data.n_rows < 2:
            raise InvalidInputError("score compares pairs, but there is 1 sample: n_samples=1")
        source = pair_source(vectors, y, similarity, getattr(self, "n_neighbors", 50), rng)
        pairs = _ranking.some_pairs(rng, data.n_rows)
        labels = source.labels_of(pairs)
        distances = _ranking.pair_distances(self.layout_.unpack(self.encode(vectors)), pairs[labels >= 0])
        return _ranking.average_precision(distances, labels[labels >= 0] == 1)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted hasher to a file that :func:`~rankhash.load_hasher` opens.

        A ``random_state`` that is neither None nor an integer is saved as None, and so is a callback; codes do
        not depend on them.
        """
        header, tensors = self._state()
        _files.write_file(path, tensors, header, "hasher")

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        """Facts and arrays from which :meth:`_restore` makes this hasher again."""
        check_is_fitted(self)
        layout = self.layout_
        header = {
            "method": type(self).__name__,
            "parameters": {name: storable(name, value) for name, value in self.get_params().items()},
            "n_symbols": layout.n_symbols,
            "arity": layout.arity,
            "fingerprint": layout.fingerprint,
            "n_features": self.n_features_in_,
            "feature_names": list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None,
        }
        arrays = {name: getattr(self, name) for name in (*self._code_arrays, *self._side_arrays)}
        return header, {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        """The hasher that a file describes; KeyError, TypeError or ValueError if it does not describe one."""
        hasher = cls(**header["parameters"])
        layout = CodeLayout(header["n_symbols"], header["arity"])
        n_features, names = header["n_features"], header["feature_names"]
        known = arrays.keys() <= {*cls._code_arrays, *cls._side_arrays}
        positive = type(n_features) is int and n_features > 0
        if not (known and positive and hasher._fits(arrays, layout, n_features)):
            raise ValueError("its arrays do not fit together")
        if names is not None and (len(names) != n_features or {*map(type, names)} != {str}):
            raise ValueError("its feature names do not fit its arrays")
        hasher._adopt(arrays, layout, n_features, None if names is None else np.array(names, dtype=object))
        if hasher.fingerprint != header["fingerprint"]:
            raise ValueError("its fingerprint does not match its arrays")
        return hasher

    def _open(self, X: Any, name: str = "X") -> VectorBatches:
        """``X`` as batches, after making sure that it has the features that were fitted."""
        check_is_fitted(self)
        if type(X) is not np.ndarray or hasattr(self, "feature_names_in_"):  # then names are to be compared
            try:
                validate_data(self, X, reset=False, skip_check_array=True, ensure_2d=False)
            except ValueError as error:
                raise InvalidInputError(str(error)) from error
        return batches(X, n_features=self.n_features_in_, name=name, owner=type(self).__name__)

    @property
    def _n_features_out(self) -> int:
        return self.layout_.n_symbols

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def _feature_names(X: Any) -> NDArray[Any] | None:
    """The column names of a frame, as scikit-learn takes them; None if there are none."""
    probe = BaseEstimator()
    validate_data(probe, X, skip_check_array=True, ensure_2d=False)
    return getattr(probe, "feature_names_in_", None)

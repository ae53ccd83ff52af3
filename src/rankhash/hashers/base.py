"""The contract of all hashers: `Hasher`, a scikit-learn transformer that turns vectors into symbols.

::

    fit ─▶ _learn(training, rng) ─▶ learned arrays ─▶ layout_ with the fingerprint of the arrays
    X ─▶ encode ─▶ batches ─▶ _encode_batch ─▶ codes            transform = layout_.unpack(encode(X))
    Q ─▶ score_tables ─▶ _scores ─▶ max - score                 save = arrays + parameters, no pickle

A method is one file with a subclass that stores its parameters, checks them in ``_check_parameters``, and
returns its arrays from ``_learn``. A method with linear projections needs nothing more. Others override
``_features``, or ``_encode_batch`` and ``_scores``. Everything that determines the codes, also a single number, must
be one of ``_code_arrays``: the fingerprint is computed from them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _files, _kernels, _ranking
from .._types import F32, F64, U8
from ..codes import CodeLayout
from ..errors import InvalidInputError
from ..similarity import pair_source
from ..vectors import VectorBatches, batches
from ._features.span import Span
from ._saving import StoredHasher, hasher_state
from .parameters import as_random_state, feature_names, one_blas_thread, symbols_of
from .training import Training

if TYPE_CHECKING:
    from typing_extensions import Self

Arrays = dict[str, NDArray[Any]]
History = dict[str, list[float]]


class Hasher(ClassNamePrefixFeaturesOutMixin, TransformerMixin, StoredHasher):  # type: ignore[misc]
    """The base class of all methods: fit, encode, score tables and files.

    ``transform`` follows ``set_output``, so that a pipeline can return frames of symbols. ``encode`` and
    ``score_tables`` always return arrays.

    Attributes
    ----------
    layout_ : CodeLayout
        The layout of the codes, with the fingerprint of this hasher.
    n_features_in_ : int
        Number of columns of the fitted vectors.
    feature_names_in_ : ndarray of str
        Names of the columns, if the vectors came as a frame with names.
    history_ : dict of lists
        The course of learning, of methods that learn in steps: lists of equal length, one entry per record. ``step``
        counts the records' steps from 0; the other names are those of the method. It is not saved.

    Examples
    --------
    >>> from rankhash.hashers import LSH
    >>> hasher = LSH(8, random_state=0).fit([[1, 2, 3], [3, 1, 2]])
    >>> isinstance(hasher, Hasher), hasher.score_tables([[1, 2, 3]]).shape
    (True, (1, 8, 2))
    """

    arity: int = 2
    n_symbols: int | None
    n_bits: int | None = None
    n_bytes: int | None = None
    random_state: Any
    projections_: F32
    bias_: F32 | None = None
    center_: F32 | None = None
    history_: History

    _code_arrays: ClassVar[tuple[str, ...]] = ("projections_", "bias_", "center_")
    _rotates: ClassVar[bool] = False
    """Whether the method depends on lengths, distances and inner products only: rotated vectors give rotated arrays"""

    def __init__(
        self,
        n_symbols: int | None = None,
        *,
        n_bits: int | None = None,
        n_bytes: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_symbols = n_symbols
        self.n_bits = n_bits
        self.n_bytes = n_bytes
        self.random_state = random_state

    @abstractmethod
    def _learn(self, training: Training, rng: np.random.RandomState) -> Arrays:
        """The learned arrays by name. It must read every batch of the vectors, since reading checks them."""

    def _layout(self, y: Any) -> CodeLayout:  # noqa: ARG002
        """The layout of the codes that a fit gives; it may depend on whether classes are given."""
        return CodeLayout(self._n_symbols, self.arity)

    @property
    def _n_symbols(self) -> int:
        """The number of symbols, from the requested symbols, bits or bytes."""
        return symbols_of(self.n_symbols, self.n_bits, self.n_bytes, self.arity)

    def _check_parameters(self) -> None:
        """Raise InvalidInputError if a parameter other than the size, arity and random_state is wrong."""

    def _features(self, batch: F32) -> F32:
        """The input of the projections: the vectors, or features of them."""
        return batch

    def _encode_batch(self, batch: F32, n_threads: int) -> tuple[U8, int]:
        """The codes of one batch, and the number of its first row that is not finite, or -1."""
        features, layout = self._features(batch), self.layout_
        learned = (self.projections_, self.bias_, self.center_)
        return _kernels.encode(features, *learned, layout.n_symbols, layout.arity, n_threads)

    def _encode_blocks(self, batch: F32, step: int, symbols: Callable[[F32], NDArray[Any]]) -> tuple[U8, int]:
        """As ``_encode_batch``, with a function that gives the symbols of ``step`` vectors at a time."""
        codes = np.empty((len(batch), self.layout_.n_bytes), np.uint8)
        bad = _kernels.first_nonfinite_row(batch)
        for start in range(0, len(batch) if bad < 0 else 0, step):
            block = symbols(batch[start : start + step]).astype(np.uint8, copy=False)
            codes[start : start + step] = _kernels.pack(block, self.layout_.arity)
        return codes, bad

    def _scores(self, vectors: F32) -> F64:
        """The scores ``(n, n_symbols, arity)`` whose argmax is the symbol.

        Each vector is multiplied separately: its scores do not depend on the other vectors of the call.
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
        """The hasher itself, fitted to the vectors ``X``.

        Parameters
        ----------
        X
            Vectors ``(n, d)``, in any form that [`as_vectors`][rankhash.as_vectors] takes, or sparse rows of SciPy,
            which are made dense in batches of a few megabytes. The sample that a method learns from is dense.
        y
            Class labels ``(n,)`` or a label indicator matrix ``(n, n_labels)``; None by default. Methods that do not
            learn from labels ignore it.
        similarity
            Given pairs, as a matrix ``(n, n)`` or rows ``(i, j, s)``; None by default. Ignored likewise.
        """
        layout = self._layout(y)
        self._check_parameters()
        rng = as_random_state(self.random_state)
        data = batches(X, owner=type(self).__name__, sparse=True)
        names = feature_names(X)
        arrays = self._learn_arrays(Training(data, y, similarity), rng, layout)
        self._adopt(arrays, layout, data.n_features, names)
        return self

    @one_blas_thread
    def _learn_arrays(self, training: Training, rng: np.random.RandomState, layout: CodeLayout) -> Arrays:
        """The learned arrays; an error if memory runs out, or if a file of the arrays could not be loaded."""
        name, n_features = type(self).__name__, training.vectors.n_features
        try:
            arrays = self._learn_in_span(training, rng) if self._rotates else self._learn(training, rng)
        except MemoryError as error:
            raise InvalidInputError(
                f"there is no memory to fit {name} to vectors of {n_features} features; reduce their dimension first"
            ) from error
        if not self._fits({key: np.asarray(array) for key, array in arrays.items()}, layout, n_features):
            raise InvalidInputError(f"{name} cannot be fitted to these vectors: their values are too large; scale them")
        return arrays

    def _learn_in_span(self, training: Training, rng: np.random.RandomState) -> Arrays:
        """The learned arrays; few vectors of many dimensions are learned from in the space that they span."""
        span = Span.of(training.vectors)
        if span is None:
            return self._learn(training, rng)
        arrays = self._learn(replace(training, vectors=span.coordinates), rng)
        wide = ("anchors_",) if "anchors_" in arrays else ("projections_", "center_", "decoder_")
        return arrays | {name: span.expand(arrays[name]) for name in wide if name in arrays}

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits: hashers with equal fingerprints give equal codes."""
        check_is_fitted(self)
        return self.layout_.fingerprint

    def transform(self, X: Any) -> U8:
        """The symbols ``(n, n_symbols)`` of ``X``, each from 0 to arity - 1."""
        codes = self.encode(X)
        return self.layout_.unpack(codes)

    def encode(self, X: Any, *, n_threads: int | None = None) -> U8:
        """The codes ``(n, n_bytes)`` of ``X``: its symbols, packed by the layout ``layout_``.

        Parameters
        ----------
        X
            Vectors ``(n, n_features_in_)``; they are read in batches of a few megabytes.
        n_threads
            Number of threads, 1 or more; None (the default) uses all cores.
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

        An entry is the largest score of the symbol minus the value's own score: 0 for the query's own symbol. The
        distance of a query to a code is the sum of the entries of the code's symbols, which ``search_scores`` of an
        index computes.
        """
        scores = self._scores(self._open(Q, name="Q").whole())
        tables: F64 = np.minimum(scores.max(axis=2, keepdims=True) - scores, np.finfo(np.float32).max)
        return tables.astype(np.float32)

    def score(self, X: Any, y: Any = None, *, similarity: Any = None) -> float:
        """The average precision, 0 to 1, of the similar pairs among ``X``, ranked by the distance of their codes.

        It is the area under the precision-recall curve with one point per radius, over all pairs of up to 1000
        vectors, or over 500 000 random pairs of more.

        Parameters
        ----------
        X
            Vectors ``(n, n_features_in_)``, 2 or more.
        y, similarity
            Which pairs are similar, as for ``fit``. If both are None (the default), the closest pairs are similar:
            ``n_neighbors`` per vector on average, or 50 if the hasher has no such parameter.
        """
        data = self._open(X)
        vectors, rng = data.whole(), np.random.default_rng(0)
        if data.n_rows < 2:
            raise InvalidInputError("score compares pairs, but there is 1 sample: n_samples=1")
        source = pair_source(vectors, y, similarity, getattr(self, "n_neighbors", None) or 50, rng)
        pairs = _ranking.some_pairs(rng, data.n_rows)
        labels = source.labels_of(pairs)
        distances = _ranking.pair_distances(self.layout_.unpack(self.encode(vectors)), pairs[labels >= 0])
        return _ranking.average_precision(distances, labels[labels >= 0] == 1)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted hasher to a file that [`load_hasher`][rankhash.load_hasher] opens.

        A ``random_state`` that is neither None nor an integer is saved as None, and so is a callback. Codes do not
        depend on them.
        """
        _files.write_file(path, *hasher_state(self), "hasher")

    def _open(self, X: Any, name: str = "X") -> VectorBatches:
        """``X`` as batches; raises unless it has the fitted features."""
        check_is_fitted(self)
        if type(X) is not np.ndarray or hasattr(self, "feature_names_in_"):  # compare names
            try:
                validate_data(self, X, reset=False, skip_check_array=True, ensure_2d=False)
            except ValueError as error:
                raise InvalidInputError(str(error)) from error
        return batches(X, n_features=self.n_features_in_, name=name, owner=type(self).__name__, sparse=True)

    @property
    def _n_features_out(self) -> int:
        return self.layout_.n_symbols

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        tags.input_tags.sparse = True
        return tags

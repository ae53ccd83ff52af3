"""The methods of a collection that maintain its file: statistics, checks, compaction, import and export."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace as replaced
from typing import TYPE_CHECKING

import numpy as np

from .. import hashers
from ..errors import InvalidInputError
from . import _export, _import
from ._learner import Learner
from ._read_methods import ReadMethods
from .check import check_database
from .filters import field_path
from .results import CheckReport, Stats

if TYPE_CHECKING:
    from ..hashers import Hasher

MAX_SAMPLE = 100_000
"""Largest number of stored vectors to which a hasher is fitted again"""

PathLike = str | os.PathLike[str]


class MaintenanceMethods(ReadMethods):
    """A collection's file as a whole."""

    _learner: Learner

    def stats(self) -> Stats:
        """The sizes and settings of the collection, and the state of its index in memory."""
        index, index_bytes = self._reader.describe_index()
        if self._learner.at_work:
            index += ", learning"
        return replaced(self._database.stats(), index=index, index_bytes=index_bytes)

    def check(self) -> CheckReport:
        """A report on damage, after reading the whole file and comparing all checksums."""
        return check_database(self._database)

    def export_file(
        self, path: PathLike, *, words: bool = False, progress: Callable[[int], object] | None = None
    ) -> int:
        """The number of items written to a .parquet, .jsonl or .npy file, in the order in which they were added.

        Parameters
        ----------
        path
            The file; an existing one is replaced once the new one is complete and durable. A .npy file holds the codes
            alone.
        words
            Whether a .parquet file gets the columns ``w0``, ``w1``, … of 64-bit words by which other engines compare
            codes, see [`CodeLayout.words`][rankhash.CodeLayout.words]; False by default.
        progress
            Called with the number of items written so far; None by default.
        """
        return _export.export_file(self._database, os.fspath(path), progress, words=words)

    def import_file(
        self,
        path: PathLike,
        key: str | None = None,
        *,
        metadata: Sequence[str] = (),
        ids_file: PathLike | None = None,
        metadata_file: PathLike | None = None,
        id_column: str | None = None,
        replace: bool = False,
        view: int | str | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> int:
        """The number of items added from a file of vectors or an exported file, all in one transaction.

        Parameters
        ----------
        path, key, metadata
            As in ``rankhash.readers.open_vectors``; ``key`` is None and ``metadata`` () by default.
        ids_file
            A text file with one id per line, for a file of vectors without ids; None by default.
        metadata_file
            A ``.csv`` file with a header, a ``.jsonl`` file or a ``.parquet`` file, with one row of metadata per
            vector; None by default.
        id_column
            The column that holds the ids, of ``metadata_file`` or else of the file itself; None by default.
        replace
            Whether items whose ids are in the collection are replaced; False (the default) raises TakenIdError.
        view
            The view of the vectors, as in [`add`][rankhash.Collection.add]; None by default. Exported codes are of any.
        progress
            Called with the number of items so far; None by default.
        """
        sidecars: dict[str, str | None] = {
            "ids": None if ids_file is None else os.fspath(ids_file),
            "metadata": None if metadata_file is None else os.fspath(metadata_file),
            "id_column": id_column,
        }
        done = _import.import_file(
            self._database, os.fspath(path), key, metadata, sidecars, replace=replace, view=view, progress=progress
        )
        self._learner.consider(len(self))
        return done

    def learn(self, *, anew: bool = False) -> None:
        """Learn cells and codes in the foreground, if learning is due; for a collection without a hasher.

        Call it before the file is closed, copied or served. With ``anew`` (False by default) it always learns.
        """
        self._learner.learn(anew=anew)

    def rehash(self, hasher: Hasher | None = None) -> None:
        """Encode all items again from their stored vectors, in one transaction.

        Parameters
        ----------
        hasher
            The new fitted hasher, also for a collection that had none. None (the default) learns again from the stored
            vectors: a hasher of the same class and parameters or, without a hasher, cells and codes.
        """
        encoding = self._database.encoding
        if hasher is None and encoding.hasher is None:
            self._learner.learn(anew=True)
            return
        if encoding.store_vectors is None:
            raise InvalidInputError("rehash needs stored vectors, and this collection has none")
        if hasher is None:
            hasher = self._fitted_anew()
        if not isinstance(hasher, hashers.Hasher):
            raise InvalidInputError(f"hasher must be a fitted rankhash hasher or None, got {hasher!r:.80}")
        if encoding.n_features not in (None, hasher.n_features_in_):
            raise InvalidInputError(
                f"the hasher takes {hasher.n_features_in_} features, but the vectors have {encoding.n_features}"
            )
        with self._database.transaction() as transaction:
            transaction.recode(replaced(transaction.encoding, hasher=hasher, learned=None))

    def _fitted_anew(self) -> Hasher:
        """A hasher of the same class and parameters, fitted to a sample of the stored vectors."""
        from sklearn.base import clone

        with self._view() as view:
            numbers = np.random.default_rng(0).permutation(view.numbers())[:MAX_SAMPLE]
            vectors = view.vectors(np.sort(numbers))
        fresh: Hasher = clone(self._database.encoding.hasher)
        return fresh.fit(vectors)

    def compact(self) -> None:
        """Drop the codes of removed items and return their space to the file system."""
        with self._database.transaction() as transaction:
            transaction.compact()
        self._database.vacuum()

    def index_field(self, field: str, *, drop: bool = False) -> None:
        """Index a metadata field, such as ``"price"`` or ``"size.width"``, or drop its index with ``drop``.

        ``drop`` is False by default. Filters give the same results with and without an index. With it, the first use
        of a filter that matches few items is fast.
        """
        self._database.index_field(field_path(field), drop=drop)

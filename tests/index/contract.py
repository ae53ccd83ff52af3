"""What every kind of index promises. A test file subclasses ``IndexContract`` and names its class."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import (
    CodeLayout,
    DuplicateIdError,
    IdError,
    InvalidInputError,
    LayoutMismatchError,
    TakenIdError,
    UnknownIdError,
)

from .contract_changes import ChangeContract
from .contract_files import FileContract
from .contract_searches import SearchContract
from .model import LAYOUTS, draw


class IndexContract(SearchContract, ChangeContract, FileContract):
    """All promises; those below are about bad arguments."""

    def test_bad_codes_are_refused_and_nothing_changes(self, rng):
        index, model = self.filled(rng, LAYOUTS[3], 10)
        other = CodeLayout(16, 16)
        for bad in (
            other.pack(draw(rng, other, 2)),
            np.zeros(5, np.uint8),
            np.zeros((2, 5), np.int64),
            np.full((2, 5), 255, np.uint8),
            np.zeros((2, 5)),
        ):
            for call in (index.add, lambda c: index.upsert(c, [0, 1]), lambda c: index.search(c, 1)):
                with pytest.raises(LayoutMismatchError, match=r"13 symbols of arity 7|integers|uint8"):
                    call(bad)
        self.check(index, model, rng)

    @pytest.mark.parametrize(
        ("ids", "error", "message"),
        [
            ([1, -1], IdError, "between 0"),
            ([20, 20], DuplicateIdError, "more than once"),
            ([3, 20], TakenIdError, "already"),
            ([1.5, 2.5], IdError, "integers"),
            ([[20], [21]], IdError, "one for each"),
            ([20], IdError, "one for each"),
            (["a", "b"], IdError, "integers"),
            (np.array([2**63, 20], np.uint64), IdError, "between 0"),
        ],
    )
    def test_bad_ids_are_refused_and_nothing_changes(self, rng, ids, error, message):
        index, model = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(error, match=message):
            index.add(LAYOUTS[0].pack(draw(rng, LAYOUTS[0], 2)), ids)
        self.check(index, model, rng)

    def test_removing_or_getting_an_unknown_id_is_an_error_and_nothing_changes(self, rng):
        index, model = self.filled(rng, LAYOUTS[0], 10)
        for ids, error in (([3, 10], UnknownIdError), ([-1], IdError), ([3, 3], DuplicateIdError), ([3.5], IdError)):
            with pytest.raises(error):
                index.remove(ids)
        with pytest.raises(UnknownIdError, match="id 10 is not in the index"):
            index.get([10])
        self.check(index, model, rng)

    @pytest.mark.parametrize("k", [0, -1, 1.0, None, "3", True])
    def test_bad_k_is_refused(self, rng, k):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(InvalidInputError, match="k must be"):
            index.search(index.get([0]), k)
        with pytest.raises(InvalidInputError, match="k must be"):
            index.search_scores(np.zeros((1, 32, 4)), k)

    def test_an_absurd_k_is_refused_before_memory_is_taken(self, rng):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(InvalidInputError, match="memory"):
            index.search(index.get([0]), 2**50)

    @pytest.mark.parametrize("radius", [-1, -0.5, np.nan, np.inf, "2", None])
    def test_bad_radius_is_refused(self, rng, radius):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(InvalidInputError, match="radius"):
            index.search_radius(index.get([0]), radius)

    @pytest.mark.parametrize(
        "weights", [np.ones(31), np.full(32, np.nan), -np.ones(32), np.ones((1, 32)), np.full(32, 1e38)]
    )
    def test_bad_weights_are_refused(self, rng, weights):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(InvalidInputError, match=r"weights|tables"):
            index.search(index.get([0]), 1, weights=weights)

    @pytest.mark.parametrize("tables", [np.zeros((1, 32, 3)), np.zeros((32, 4)), np.full((1, 32, 4), np.inf)])
    def test_bad_tables_are_refused(self, rng, tables):
        index, _ = self.filled(rng, LAYOUTS[0], 10)
        with pytest.raises(InvalidInputError, match="tables"):
            index.search_scores(tables, 1)

    def test_a_layout_is_needed(self):
        with pytest.raises(InvalidInputError, match="CodeLayout"):
            self.make((32, 4))

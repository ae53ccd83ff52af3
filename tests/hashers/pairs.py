"""What hashers promise that learn from pairs, but not by steps of single functions, and hashers of kernel features."""

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

from rankhash.errors import InvalidInputError

from .contract import N_FEATURES, HasherContract
from .learners import LearnerContract


class PairContract(LearnerContract):
    """There is no course of single functions to keep, tell or report."""

    test_the_course_of_learning_is_kept = None
    test_the_callback_hears_of_every_function = None
    test_the_report_has_a_line_a_function = None
    test_balance_and_agreement_are_those_of_the_codes = None
    test_nothing_is_printed_unless_on_a_terminal = None


class KernelPairContract(PairContract):
    """Kernel features change with the distance from the centre, and hardly fit into memory if they are many."""

    test_codes_do_not_change_when_vectors_are_scaled_around_the_centre = None


class KernelContract(HasherContract):
    """Distances to anchors need vectors that differ."""

    def test_a_large_input_is_never_copied_whole(self, fitted):
        large = np.random.default_rng(0).normal(size=((48 << 20) // 8 // N_FEATURES, N_FEATURES))
        tracemalloc.start()
        try:
            clone(fitted).fit(large)
            codes = fitted.encode(large)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak - codes.nbytes < large.nbytes / 2

    @pytest.mark.parametrize("value", [0.0, 1.0, 1e30, -7.25])
    def test_constant_vectors_are_refused(self, hasher, value):
        with pytest.raises(InvalidInputError, match="all vectors are the same"):
            hasher.fit(np.full((100, 5), value))

    @pytest.mark.parametrize("factor", [2.0**-60, 2.0**60])
    def test_the_scale_of_the_vectors_does_not_matter(self, hasher, factor):
        rows = np.random.default_rng(3).normal(size=(200, N_FEATURES)).astype(np.float32)
        plain = clone(hasher).fit(rows)
        scaled = clone(hasher).fit(rows * np.float32(factor))
        np.testing.assert_array_equal(scaled.encode(rows * np.float32(factor)), plain.encode(rows))

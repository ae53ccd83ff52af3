"""What hashers that learn from pairs promise beyond the contract of all hashers, and hashers of kernel features."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from rankhash.errors import InvalidInputError

from .contract import HasherContract
from .inputs import N_FEATURES, X

Y = np.arange(len(X)) % 4


class PairContract(HasherContract):
    """Tests for the fixture ``hasher``, with few pairs and ``n_neighbors`` below half of the 67 vectors."""

    many_points = 1000
    """``max_points`` with which a fit needs less memory than the large input."""

    def test_a_large_input_is_never_copied_whole(self, fitted):
        large = np.random.default_rng(0).normal(size=((64 << 20) // 8 // N_FEATURES, N_FEATURES))
        learner = clone(fitted).set_params(max_points=self.many_points)
        tracemalloc.start()
        try:
            learner.fit(large)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < large.nbytes / 2

    def test_every_source_of_pairs_gives_a_hasher_of_its_own(self, hasher):
        given = np.array([(i, j, int(Y[i] == Y[j])) for i in range(30) for j in range(i)])
        multi = np.eye(4)[Y] + np.eye(4)[Y[::-1]] > 0
        fits = [{}, {"y": Y}, {"y": multi}, {"similarity": given}]
        prints = {clone(hasher).fit(X, **known).fingerprint for known in fits}
        assert len(prints) == len(fits)

    def test_the_form_of_the_labels_does_not_matter(self, hasher):
        plain = clone(hasher).fit(X, Y)
        for y in (Y.tolist(), Y.astype(float), np.array(list("abcd"))[Y], Y[:, None]):
            assert clone(hasher).fit(X, y).fingerprint == plain.fingerprint

    def test_the_form_of_given_pairs_does_not_matter(self, hasher):
        similar = Y[:, None] == Y
        rows = np.array([(i, j, similar[i, j]) for i in range(len(X)) for j in range(i)])
        marks = np.where(similar, 1, -1)
        forms = (similar, marks, rows, rows[:, [1, 0, 2]], scipy.sparse.csr_array(marks))
        prints = {clone(hasher).fit(X, similarity=form).fingerprint for form in forms}
        assert len(prints) == 1

    def test_labels_and_given_pairs_together_are_refused(self, hasher):
        with pytest.raises(InvalidInputError, match="pass y or similarity, not both"):
            hasher.fit(X, Y, similarity=Y[:, None] == Y)

    @pytest.mark.parametrize(
        ("known", "sentence"),
        [
            ({"y": np.zeros(len(X))}, "no dissimilar pair to learn from: y has only one class"),
            ({"y": np.arange(len(X))}, "no similar pair to learn from: no two vectors share a class"),
            ({"y": Y[:-1]}, "one label per vector"),
            ({"y": np.where(Y == 0, np.nan, Y)}, "y must not hold NaN"),
            ({"similarity": [(0, 1, 1)]}, "no dissimilar pair to learn from: mark some"),
            ({"similarity": [(0, 1, 0)]}, "no similar pair to learn from"),
            ({"similarity": [(0, 1, 0), (0, 67, 1)]}, "outside of 0 to 66"),
            ({"similarity": [(0, 1, 0), (0, 6, 0.5)]}, "got s = 0.5"),
            ({"similarity": np.zeros((3, 4))}, "got the shape"),
        ],
    )
    def test_pairs_that_teach_nothing_get_one_sentence(self, hasher, known, sentence):
        with pytest.raises(InvalidInputError, match=sentence) as caught:
            hasher.fit(X, **known)
        assert "\n" not in str(caught.value)
        assert not hasattr(hasher, "layout_")

    @pytest.mark.parametrize("value", [0.0, 1.0, 1e30, -7.25])
    def test_constant_vectors_are_refused(self, hasher, value):
        if value == 0 or getattr(hasher, "center", True):
            with pytest.raises(InvalidInputError, match="all vectors are the same"):
                hasher.fit(np.full((100, 5), value), np.arange(100) % 2)

    def test_duplicates_are_no_problem(self, hasher):
        hasher.fit(np.repeat(X, 3, axis=0))
        assert np.isfinite(hasher.projections_).all()

    def test_contradictory_pairs_are_left_out_with_a_warning(self, hasher):
        clear = [(0, 1, 1), (2, 3, 0), (4, 5, 1), (1, 5, 0)]
        with pytest.warns(UserWarning, match=r"1 pairs are given as similar and as dissimilar, such as \(6, 7\)"):
            contradicted = clone(hasher).fit(X, similarity=[*clear, (6, 7, 1), (7, 6, 0)])
        assert contradicted.fingerprint == hasher.fit(X, similarity=clear).fingerprint

    @pytest.mark.parametrize("factor", [2.0**-60, 2.0**-10, 2.0**10, 2.0**60])
    def test_the_scale_of_the_vectors_does_not_matter(self, hasher, fitted, factor):
        scaled = clone(hasher).fit(X * np.float32(factor))
        np.testing.assert_array_equal(scaled.encode(X * np.float32(factor)), fitted.encode(X))

    def test_an_outlier_leaves_no_nan(self, hasher):
        rows = X.copy()
        rows[3] = 1e30
        hasher.fit(rows, Y)
        assert np.isfinite(hasher.projections_).all()

    def test_a_single_vector_is_refused(self, hasher):
        with pytest.raises(InvalidInputError, match="n_samples=1"):
            hasher.fit(X[:1])


class NeighborContract(PairContract):
    """Without labels, pairs come from metric neighbours."""

    def test_vectors_that_are_nearly_all_duplicates_are_refused_without_labels(self, hasher):
        rows = np.zeros((600, 4))
        rows[0] = 1
        with pytest.raises(InvalidInputError, match="nearly all vectors are equally far apart"):
            hasher.fit(rows)

    def test_too_many_neighbours_are_reduced_with_a_warning(self, hasher):
        hasher.set_params(n_neighbors=60)
        with pytest.warns(UserWarning, match="n_neighbors=60 is too many among 67 vectors; 33 are used"):
            hasher.fit(X)
        assert np.isfinite(hasher.projections_).all()

    def test_two_vectors_can_be_learned_only_with_pairs(self, hasher):
        with pytest.raises(InvalidInputError, match="n_samples=2; pass y or similarity"):
            hasher.fit(X[:2])


class LinearCodes:
    """Signs or argmaxes of projections without a bias depend only on the direction from the centre."""

    def test_codes_do_not_change_when_vectors_are_scaled_around_the_centre(self, fitted):
        center = 0 if fitted.center_ is None else np.round(fitted.center_)
        fitted.center_ = None if fitted.center_ is None else center
        for factor in (0.25, 2.0, 1024.0):
            np.testing.assert_array_equal(fitted.encode(center + factor * (X - center)), fitted.encode(X))


class KernelContract(HasherContract):
    """Distances to anchors need vectors that differ."""

    def large_input(self):
        return np.random.default_rng(0).normal(size=((48 << 20) // 8 // N_FEATURES, N_FEATURES))

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

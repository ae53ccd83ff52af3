"""SpectralHashing: the hasher contract, its modes on a box, and its bits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankhash import SpectralHashing, _files, load_hasher
from rankhash.errors import FileFormatError
from rankhash.hashers.spectral import smoothest_modes

from .contract import HasherContract
from .inputs import X


class TestContract(HasherContract):
    @pytest.fixture(params=[SpectralHashing(9, random_state=0), SpectralHashing(65, random_state=0)], ids=str)
    def hasher(self, request):
        return clone(request.param)

    def test_the_same_random_state_gives_the_same_hasher(self, hasher, fitted):
        """Nothing is drawn, so that any other gives the same one, too."""
        for state in (0, 99, None):
            assert clone(hasher).set_params(random_state=state).fit(X).fingerprint == fitted.fingerprint


@parametrize_with_checks([SpectralHashing(8)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


SIDES = np.array([5.0, 3.1, 1.7, 0.41])


def grid_in_a_box():
    """A regular grid that fills a box along the axes: its principal axes are the box's."""
    points = np.stack(np.meshgrid(*[np.linspace(0, side, 7) for side in SIDES]), axis=-1)
    return points.reshape(-1, len(SIDES))


@pytest.mark.parametrize("n_symbols", [1, 4, 17, 64])
def test_modes_on_a_box_are_the_closed_form(n_symbols):
    hasher = SpectralHashing(n_symbols).fit(grid_in_a_box())
    n_axes = min(n_symbols, 4)
    eigenvalues = {(j, k): (k * np.pi / SIDES[j]) ** 2 for j in range(n_axes) for k in range(1, n_symbols + 1)}
    expected = sorted(eigenvalues, key=eigenvalues.__getitem__)[:n_symbols]
    assert [tuple(mode) for mode in hasher.modes_.tolist()] == expected
    np.testing.assert_allclose(hasher.box_[1], SIDES[:n_axes], rtol=1e-5)
    np.testing.assert_allclose(np.abs(hasher.projections_), np.eye(4)[:n_axes], atol=1e-5)


def test_bits_are_the_signs_of_the_eigenfunctions():
    rng = np.random.default_rng(0)
    hasher = SpectralHashing(24).fit(grid_in_a_box())
    points = rng.uniform(-0.3, 1.3, size=(500, 4)) * SIDES  # beyond the box the waves go on
    signs = hasher.projections_.sum(axis=1)
    axis, k = hasher.modes_.T
    from_low = np.where(signs > 0, points, SIDES - points)[:, axis]
    waves = np.cos(k * np.pi * from_low / SIDES[axis])
    clear = np.abs(waves) > 1e-3
    np.testing.assert_array_equal(hasher.transform(points)[clear], (waves > 0)[clear])
    tables = hasher.score_tables(points)
    np.testing.assert_allclose(tables[:, :, 0] - tables[:, :, 1], waves, atol=1e-4)


def test_the_first_bit_halves_a_uniform_box():
    points = np.random.default_rng(0).random((4000, 3)) * [3, 2, 1]
    bits = SpectralHashing(3).fit(points).transform(points)
    np.testing.assert_allclose(bits.mean(axis=0), 0.5, atol=0.03)


def test_short_axes_get_no_bit():
    assert set(smoothest_modes(np.array([10.0, 1.0, 0.0]), 8)[:, 0]) == {0}
    assert smoothest_modes(np.array([10.0, 1.05, 0.0]), 12)[:, 0].tolist() == [0] * 9 + [1] + [0] * 2


def test_axes_of_equal_width_take_turns():
    assert smoothest_modes(np.ones(3), 7).tolist() == [[0, 1], [1, 1], [2, 1], [0, 2], [1, 2], [2, 2], [0, 3]]


@pytest.mark.parametrize("rows", [np.zeros((9, 4)), np.full((1, 4), 7.25), np.full((2, 4), 3e38)])
def test_constant_vectors_have_one_code(rows):
    hasher = SpectralHashing(6).fit(rows)
    assert len(np.unique(hasher.encode(rows), axis=0)) == 1


@pytest.mark.parametrize("factor", [2.0**-60, 2.0**60])
def test_the_scale_of_the_vectors_does_not_matter(factor):
    factor = np.float32(factor)
    plain, scaled = SpectralHashing(20).fit(X), SpectralHashing(20).fit(X * factor)
    np.testing.assert_array_equal(scaled.encode(X * factor), plain.encode(X))


def test_labels_and_similarity_are_ignored():
    plain = SpectralHashing(8).fit(X)
    assert SpectralHashing(8).fit(X, np.arange(len(X)), similarity=object()).fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("modes_", lambda modes: modes + np.int32([100, 0])),
        ("modes_", lambda modes: modes * np.int32([1, -1])),
        ("modes_", lambda modes: modes.astype(np.int64)),
        ("box_", lambda box: box * np.float32([[1], [0]])),
        ("box_", lambda box: box[:, :-1]),
        ("projections_", lambda axes: axes * np.float32(np.nan)),
    ],
)
def test_a_file_with_impossible_modes_is_refused(name, change, tmp_path):
    path = tmp_path / "hasher"
    SpectralHashing(8).fit(X).save(path)
    header, tensors = _files.read_file(path, "hasher")
    _files.write_file(path, tensors | {name: np.ascontiguousarray(change(tensors[name]))}, header, "hasher")
    with pytest.raises(FileFormatError, match="does not describe a usable SpectralHashing"):
        load_hasher(path)

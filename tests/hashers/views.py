"""What every hasher of several views promises: its test file inherits `ViewContract` and lists its variants."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone

from rankhash import _files
from rankhash.codes import CodeLayout
from rankhash.errors import FileFormatError, InvalidInputError, InvalidTypeError, RankhashError
from rankhash.hashers import HASHERS, VIEW_HASHERS, load_hasher
from rankhash.vectors import batches

from .contract import HasherContract
from .inputs import loaded_from_mutations, peak_memory

WIDTHS = (12, 7)


def draw_views(n=90, seed=0, noise=1.0):
    """Two views of items of three classes, as whole numbers that are exact in float16, and the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    parts = []
    for width in WIDTHS:
        centers = np.random.default_rng(width).integers(-6, 7, (3, width))
        parts.append(np.round(centers[y] + noise * rng.normal(size=(n, width)) * 2).astype(np.float32))
    return (*parts, y)


X, Z, Y = draw_views()


class ViewContract:
    """Tests for the fixture ``hasher``: an unfitted hasher with a fixed random_state."""

    history_names = frozenset()

    @pytest.fixture
    def fitted(self, hasher):
        return hasher.fit((X, Z), Y)

    def test_is_registered_apart_from_methods_of_one_view(self, hasher):
        name = type(hasher).__name__
        assert VIEW_HASHERS[name] is type(hasher)
        assert name not in HASHERS

    def test_codes_of_all_views_have_one_layout(self, fitted):
        layout = fitted.layout_
        assert layout == CodeLayout(layout.n_symbols, layout.arity, fitted.fingerprint)
        assert (fitted.views_, fitted.n_features_, fitted.n_features_in_) == (("0", "1"), WIDTHS, WIDTHS[0])
        for view, part in enumerate((X, Z)):
            symbols, codes = fitted.transform(part, view=view), fitted.encode(part, view=view)
            assert codes.shape == (len(X), layout.n_bytes)
            np.testing.assert_array_equal(layout.pack(symbols), codes)
            np.testing.assert_array_equal(fitted.encode(part, view=str(view)), codes)
        np.testing.assert_array_equal(fitted.encode(X), fitted.encode(X, view=0))

    def test_a_view_finds_items_of_another(self, fitted):
        x, z, y = draw_views(60, seed=5, noise=0.3)
        symbols = fitted.transform(x, view=0), fitted.transform(z, view=1)
        agreement = (symbols[0][:, None] == symbols[1]).mean(axis=2)
        same = y[:, None] == y
        assert agreement[same].mean() > agreement[~same].mean() + 0.2
        assert fitted.score((x, z), y) > 0.6

    def test_views_may_have_names(self, hasher, tmp_path):
        plain = clone(hasher).fit((X, Z), Y)
        named = hasher.fit({"pictures": X, "texts ä": Z}, Y)
        assert named.views_ == ("pictures", "texts ä")
        assert named.fingerprint == plain.fingerprint
        np.testing.assert_array_equal(named.encode(Z, view="texts ä"), plain.encode(Z, view=1))
        named.save(tmp_path / "hasher")
        assert load_hasher(tmp_path / "hasher").views_ == named.views_

    @pytest.mark.parametrize("view", [2, -1, "2", "text", None, True, 0.0, (0,)])
    def test_an_unknown_view_is_refused(self, fitted, view):
        for call in (fitted.encode, fitted.transform, fitted.score_tables):
            with pytest.raises(InvalidInputError, match="view must be a place from 0 to 1 or one of '0', '1'"):
                call(X, view=view)

    def test_the_same_random_state_gives_the_same_hasher(self, hasher, fitted):
        assert clone(hasher).fit((X, Z), Y).fingerprint == fitted.fingerprint
        assert fitted.fit((X, Z), Y).fingerprint == fitted.fingerprint

    def test_type_and_container_do_not_matter(self, hasher, fitted):
        for x, z in [
            (X.astype(np.float64), Z.astype(np.float16)),
            (X.tolist(), np.asfortranarray(Z)),
            (pd.DataFrame(X), Z.astype(int)),
        ]:
            assert clone(hasher).fit([x, z], Y).fingerprint == fitted.fingerprint
            np.testing.assert_array_equal(fitted.encode(x), fitted.encode(X))
            np.testing.assert_array_equal(fitted.encode(z, view=1), fitted.encode(Z, view=1))

    def test_a_code_does_not_depend_on_the_batch(self, fitted):
        for view, part in enumerate((X, Z)):
            whole, tables = fitted.encode(part, view=view), fitted.score_tables(part, view=view)
            for n in (1, 2, 64, 65):
                np.testing.assert_array_equal(fitted.encode(part[-n:], view=view, n_threads=n), whole[-n:])
                np.testing.assert_array_equal(fitted.score_tables(part[-n:], view=view), tables[-n:])

    def test_score_tables_are_distances_to_the_own_symbol(self, fitted):
        for view, part in enumerate((X, Z)):
            tables, symbols = fitted.score_tables(part, view=view), fitted.transform(part, view=view)
            assert tables.shape == (*symbols.shape, fitted.layout_.arity)
            own = np.take_along_axis(tables, symbols[:, :, None].astype(np.intp), axis=2)
            np.testing.assert_allclose(own, 0, atol=1e-5 * tables.max())
            assert (tables >= 0).all()

    @pytest.mark.parametrize(
        ("views", "sentence"),
        [
            (X, "arrays of vectors, one per view"),
            ((X,), "arrays of vectors, one per view"),
            ((), "arrays of vectors, one per view"),
            ([X] * 17, "arrays of vectors, one per view"),
            ((X, Z[:-1]), r"every item has one row in every view, but the views have \[90, 89\] rows"),
            ((X[:1], Z[:1]), "n_samples=1"),
            ((X, Z[0]), "view 1 must be a 2D array"),
            ((X, np.full_like(Z, np.nan)), "view 1 must hold finite numbers, but row 0 holds NaN"),
            ({"a": X, "": Z}, "names of views must be different texts of 1 to 64 characters"),
            ({"a": X, 7: Z}, "names of views must be different texts of 1 to 64 characters"),
            ({"a": X, "b" * 65: Z}, "names of views must be different texts of 1 to 64 characters"),
        ],
        ids=range(11),
    )
    def test_bad_views_get_one_sentence_and_change_nothing(self, fitted, views, sentence):
        before = fitted.fingerprint
        with pytest.raises(InvalidInputError, match=sentence) as caught:
            fitted.fit(views, Y)
        assert "\n" not in str(caught.value)
        assert fitted.fingerprint == before

    def test_bad_vectors_get_one_sentence(self, fitted):
        name = type(fitted).__name__
        with pytest.raises(InvalidInputError, match=f"has 7 features, but view 0 of {name} is expecting 12 features"):
            fitted.encode(Z)
        with pytest.raises(InvalidInputError, match=f"has 12 features, but view 1 of {name} is expecting 7 features"):
            fitted.score_tables(X, view=1)
        with pytest.raises(InvalidTypeError, match="sparse"):
            fitted.encode(scipy.sparse.csr_array(Z), view=1)
        with pytest.raises(InvalidInputError, match="row 3 holds NaN"):
            fitted.encode(np.where(np.arange(len(Z))[:, None] == 3, np.nan, Z), view=1)

    test_nothing_works_before_fit = HasherContract.test_nothing_works_before_fit

    @pytest.mark.parametrize(
        ("parameter", "value"), [("n_symbols", 0), ("n_symbols", 4097), ("random_state", -1), ("random_state", "a")]
    )
    def test_a_wrong_parameter_is_refused_by_fit(self, hasher, parameter, value):
        with pytest.raises(InvalidInputError, match=f"{parameter} must be"):
            hasher.set_params(**{parameter: value}).fit((X, Z), Y)
        assert not hasattr(hasher, "layout_")

    def test_a_loaded_hasher_is_the_same(self, fitted, tmp_path):
        fitted.save(tmp_path / "hasher")
        loaded = load_hasher(tmp_path / "hasher")
        assert type(loaded) is type(fitted)
        assert loaded.get_params() == fitted.get_params()
        assert (loaded.layout_, loaded.views_, loaded.n_features_) == (fitted.layout_, ("0", "1"), WIDTHS)
        for view, part in enumerate((X, Z)):
            np.testing.assert_array_equal(loaded.encode(part, view=view), fitted.encode(part, view=view))
            np.testing.assert_array_equal(loaded.score_tables(part, view=view), fitted.score_tables(part, view=view))
        copied = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(copied.encode(Z, view=1), fitted.encode(Z, view=1))

    @pytest.mark.parametrize("kind", ["three rows", "one dimension", "huge", "tiny", "constant"])
    @pytest.mark.filterwarnings("ignore:overflow")
    def test_what_can_be_saved_can_be_loaded(self, hasher, kind, tmp_path):
        odd = {
            "three rows": (X[:3], Z[:3]),
            "one dimension": (X[:30, :1], Z[:30, :1]),
            "huge": (np.sign(X[:30] + 0.1) * 3e38, Z[:30]),
            "tiny": (X[:30] * 1e-38, Z[:30]),
            "constant": (np.ones((30, 2)), Z[:30]),
        }[kind]
        try:
            hasher.fit(tuple(part.astype(np.float32) for part in odd), np.arange(len(odd[0])) % 2).save(tmp_path / "h")
        except RankhashError:
            return
        load_hasher(tmp_path / "h")

    def test_mutated_files_are_refused_or_unharmed(self, fitted, tmp_path):
        codes = fitted.encode(Z, view=1)
        for loaded in loaded_from_mutations(fitted, tmp_path / "hasher", 150):
            np.testing.assert_array_equal(loaded.encode(Z, view=1), codes)

    def test_a_file_whose_arrays_do_not_fit_is_refused(self, fitted, tmp_path):
        path = tmp_path / "hasher"
        fitted.save(path)
        header, tensors = _files.read_file(path, "hasher")
        widths, names = tensors["widths_"], tensors["names_"]
        for change in (
            {"widths_": widths[::-1].copy()},
            {"widths_": widths * 0},
            {"widths_": widths + (1 << 40)},
            {"widths_": widths[:1]},
            {"names_": names[:-1]},
            {"names_": np.frombuffer(b"a\na", np.uint8)},
            {"names_": np.frombuffer(b"\xff\n0", np.uint8)},
            {"names_": np.zeros(1 << 16, np.uint8)},
            {"scale_": tensors["scale_"] + 1},
            {"scale_": tensors["scale_"] - 1},
            {"anchors_": np.zeros(3, np.float32)},
            {"projections_": tensors["projections_"][:, 1:].copy()},
            {"projections_": tensors["projections_"].astype(np.float64)},
            {"projections_": tensors["projections_"] + 1},
            {"extra": widths},
        ):
            _files.write_file(path, tensors | change, header, "hasher")
            with pytest.raises(FileFormatError, match="does not describe a usable"):
                load_hasher(path)
        for missing in tensors:
            _files.write_file(path, {name: tensors[name] for name in tensors if name != missing}, header, "hasher")
            with pytest.raises(FileFormatError, match="does not describe a usable"):
                load_hasher(path)

    def test_a_large_input_is_encoded_in_batches(self, fitted):
        large = np.ones(((32 << 20) // 8 // WIDTHS[1], WIDTHS[1]))
        codes, peak = peak_memory(lambda: fitted.encode(large, view=1))
        assert peak - codes.nbytes < large.nbytes / 2

    def test_fit_transform_gives_the_symbols_of_every_view(self, hasher, fitted):
        symbols = clone(hasher).fit_transform((X, Z), Y)
        np.testing.assert_array_equal(symbols[0], fitted.transform(X))
        np.testing.assert_array_equal(symbols[1], fitted.transform(Z, view=1))

    def test_the_history_is_a_dict_of_lists_of_one_length(self, fitted):
        history = getattr(fitted, "history_", {})
        assert {*history} == {*self.history_names}
        assert len({len(values) for values in history.values()}) == (1 if self.history_names else 0)

    def test_classes_pairs_or_both_are_checked(self, hasher):
        with pytest.raises(InvalidInputError, match="one label per vector"):
            clone(hasher).fit((X, Z), Y[:-1])
        with pytest.raises(InvalidInputError, match="not both"):
            clone(hasher).fit((X, Z), Y, similarity=[(0, 1, 1), (0, 2, 0)])


def as_batches(*views):
    """Views as ``fit`` opens them."""
    return tuple(batches(view) for view in views)

"""What every hasher promises: its test file inherits `HasherContract` and lists its variants."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankhash import vectors
from rankhash.codes import CodeLayout
from rankhash.errors import InvalidInputError
from rankhash.hashers import HASHERS

from .contract_files import FileContract
from .inputs import (
    BAD_INPUTS,
    N_FEATURES,
    Wrapped,
    X,
    as_memmap,
    draw_vectors,
    peak_memory,
)


class HasherContract(FileContract):
    """Tests for the fixture ``hasher``: an unfitted hasher with a fixed random_state."""

    history_names = frozenset()
    """Names in ``history_``; none if the method does not learn in steps."""

    @pytest.fixture
    def fitted(self, hasher):
        return hasher.fit(X)

    def test_the_history_is_a_dict_of_lists_of_one_length(self, fitted):
        history = getattr(fitted, "history_", {})
        assert {*history} == {*self.history_names}
        assert {type(values) for values in history.values()} <= {list}
        assert len({len(values) for values in history.values()}) == (1 if self.history_names else 0)

    def test_is_registered(self, hasher):
        assert HASHERS[type(hasher).__name__] is type(hasher)

    def test_symbols_and_codes_have_the_layout(self, fitted):
        layout, symbols, codes = fitted.layout_, fitted.transform(X), fitted.encode(X)
        asked = fitted._layout(None)
        assert layout == CodeLayout(asked.n_symbols, asked.arity, fitted.fingerprint)
        assert symbols.dtype == codes.dtype == np.uint8
        assert symbols.shape == (len(X), layout.n_symbols)
        assert symbols.max() < layout.arity
        np.testing.assert_array_equal(codes, layout.pack(symbols))
        np.testing.assert_array_equal(clone(fitted).fit_transform(X), symbols)

    def test_the_same_random_state_gives_the_same_hasher(self, hasher, fitted):
        again = clone(hasher).fit(X)
        other = clone(hasher).set_params(random_state=99).fit(X)
        np.testing.assert_array_equal(again.encode(X), fitted.encode(X))
        assert again.fingerprint == fitted.fingerprint != other.fingerprint
        assert len(fitted.fingerprint) == 16

    def test_fitting_twice_gives_the_same_hasher(self, fitted):
        before = fitted.fingerprint
        assert fitted.fit(X).fingerprint == before

    @pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.int64, np.uint16, ">f8", object])
    def test_the_type_of_the_numbers_does_not_matter(self, hasher, fitted, dtype):
        np.testing.assert_array_equal(fitted.encode(X.astype(dtype)), fitted.encode(X))
        assert clone(hasher).fit(X.astype(dtype)).fingerprint == fitted.fingerprint

    def test_the_container_does_not_matter(self, hasher, fitted, tmp_path):
        containers = [
            X.tolist(),
            np.asfortranarray(X),
            np.repeat(X, 2, axis=0)[::2],
            pd.DataFrame(X),
            as_memmap(X, tmp_path),
            Wrapped(),
            scipy.sparse.csr_array(X),
            scipy.sparse.coo_matrix(X),
        ]
        for container in containers:
            np.testing.assert_array_equal(fitted.encode(container), fitted.encode(X))
            assert clone(hasher).fit(container).fingerprint == fitted.fingerprint

    @pytest.mark.parametrize("rows", [1, 3, 64, 66, 67])
    def test_the_size_of_the_batches_does_not_matter(self, fitted, monkeypatch, rows):
        whole = fitted.encode(X)
        monkeypatch.setattr(vectors, "BATCH_BYTES", 4 * N_FEATURES * rows)
        np.testing.assert_array_equal(fitted.encode(X), whole)

    def test_a_code_does_not_depend_on_the_batch(self, fitted):
        rows = draw_vectors(130, seed=1)
        whole = fitted.encode(rows)
        for n in (1, 2, 63, 64, 65, 129):
            np.testing.assert_array_equal(fitted.encode(rows[:n]), whole[:n])
            np.testing.assert_array_equal(fitted.encode(rows[-n:]), whole[-n:])

    @pytest.mark.parametrize("n_threads", [1, 2, 3, 7, None])
    def test_the_number_of_threads_does_not_matter(self, fitted, n_threads):
        rows = draw_vectors(1000, seed=1)
        np.testing.assert_array_equal(fitted.encode(rows, n_threads=n_threads), fitted.encode(rows, n_threads=1))

    @pytest.mark.parametrize("n_threads", [0, -1, 1.5, True, "2"])
    def test_an_impossible_number_of_threads_is_refused(self, fitted, n_threads):
        with pytest.raises(InvalidInputError, match="n_threads must be a positive integer or None"):
            fitted.encode(X, n_threads=n_threads)

    def large_input(self):
        """An input of 32 MB or more, next to which a fit needs little memory."""
        return np.ones(((32 << 20) // 8 // N_FEATURES, N_FEATURES))

    def test_a_large_input_is_never_copied_whole(self, fitted):
        large = self.large_input()

        def fit_and_encode():
            clone(fitted).fit(large)
            return fitted.encode(large)

        codes, peak = peak_memory(fit_and_encode)
        assert peak - codes.nbytes < large.nbytes / 2

    def test_score_tables_are_distances_to_the_own_symbol(self, fitted):
        tables, symbols = fitted.score_tables(X), fitted.transform(X)
        assert tables.dtype == np.float32
        assert tables.shape == (len(X), fitted.layout_.n_symbols, fitted.layout_.arity)
        assert (tables >= 0).all()
        assert (tables.min(axis=2) == 0).all()
        own = np.take_along_axis(tables, symbols[:, :, None].astype(np.intp), axis=2)
        np.testing.assert_allclose(own, 0, atol=1e-5 * tables.max())

    def test_score_tables_do_not_depend_on_the_batch(self, fitted):
        tables = fitted.score_tables(X)
        for n in (1, 5, 66):
            np.testing.assert_array_equal(fitted.score_tables(X[-n:]), tables[-n:])

    @pytest.mark.parametrize(("bad", "error", "sentence"), BAD_INPUTS.values(), ids=BAD_INPUTS)
    @pytest.mark.parametrize("method", ["fit", "transform", "encode", "score_tables"])
    def test_a_bad_input_gets_one_sentence(self, fitted, method, bad, error, sentence):
        with pytest.raises(error, match=sentence) as caught:
            getattr(fitted, method)(bad)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("method", ["transform", "encode", "score_tables"])
    def test_another_width_is_refused(self, fitted, method):
        name = type(fitted).__name__
        with pytest.raises(InvalidInputError, match=f"has 3 features, but {name} is expecting 12 features as input"):
            getattr(fitted, method)(X[:, :3])

    def test_a_failed_fit_leaves_the_hasher_as_it_was(self, fitted):
        before, codes = fitted.fingerprint, fitted.encode(X)
        with pytest.raises(InvalidInputError):
            fitted.fit(np.full((4, 5), np.nan))
        assert (fitted.fingerprint, fitted.n_features_in_) == (before, N_FEATURES)
        np.testing.assert_array_equal(fitted.encode(X), codes)

    @pytest.mark.parametrize(
        ("parameter", "value", "sentence"),
        [
            ("n_symbols", 0, "n_symbols must be an integer from 1 to 4096, got 0"),
            ("n_symbols", 4097, "n_symbols must be an integer from 1 to 4096, got 4097"),
            ("n_symbols", 2.5, "n_symbols must be an integer"),
            ("random_state", -1, "random_state must be None, an integer .*, got -1"),
            ("random_state", "seed", "random_state must be None, an integer"),
        ],
    )
    def test_a_wrong_parameter_is_refused_by_fit(self, hasher, parameter, value, sentence):
        hasher.set_params(**{parameter: value})
        with pytest.raises(InvalidInputError, match=sentence):
            hasher.fit(X)
        assert not hasattr(hasher, "layout_")

    def test_a_code_has_the_size_asked_for_in_bits_or_bytes(self, hasher):
        each = CodeLayout(1, hasher.arity if isinstance(hasher.arity, int) else 2).bits
        for size, bits in [({"n_bits": 4 * each}, 4 * each), ({"n_bytes": each}, 8 * each)]:
            assert clone(hasher).set_params(n_symbols=None, **size)._layout(None).bits == bits
        if 64 % each == 0:
            assert clone(hasher).set_params(n_symbols=None)._layout(None).bits == 64
        with pytest.raises(InvalidInputError, match="n_symbols and n_bytes are both given; a code has one size"):
            hasher.set_params(n_symbols=8, n_bytes=4).fit(X)

    def test_nothing_works_before_fit(self, hasher, tmp_path):
        for call in (hasher.transform, hasher.encode, hasher.score_tables):
            with pytest.raises(NotFittedError):
                call(X)
        with pytest.raises(NotFittedError):
            hasher.save(tmp_path / "hasher")
        with pytest.raises(NotFittedError):
            _ = hasher.fingerprint

    def test_parameters_changed_after_fit_wait_for_the_next_fit(self, fitted):
        codes = fitted.encode(X)
        fitted.set_params(n_symbols=3)
        np.testing.assert_array_equal(fitted.encode(X), codes)
        assert fitted.fit(X).transform(X).shape == (len(X), 3)

    def test_a_fit_without_memory_says_so(self, hasher, monkeypatch):
        def none(*_):
            raise MemoryError

        monkeypatch.setattr(type(hasher), "_learn", none)
        with pytest.raises(InvalidInputError, match="no memory to fit"):
            hasher.fit(X)

    def test_a_clone_is_unfitted_and_a_pickle_is_fitted(self, fitted):
        assert not hasattr(clone(fitted), "layout_")
        copied = pickle.loads(pickle.dumps(fitted))
        assert copied.layout_ == fitted.layout_
        np.testing.assert_array_equal(copied.encode(X), fitted.encode(X))

    def test_symbols_can_come_as_a_frame(self, fitted):
        names = [f"{type(fitted).__name__.lower()}{i}" for i in range(fitted.layout_.n_symbols)]
        assert fitted.get_feature_names_out().tolist() == names
        symbols = fitted.transform(X)
        frame = fitted.set_output(transform="pandas").transform(X)
        assert frame.columns.tolist() == names
        np.testing.assert_array_equal(frame.to_numpy(), symbols)
        assert isinstance(fitted.encode(X), np.ndarray)

    def test_works_in_a_pipeline(self, hasher):
        symbols = make_pipeline(StandardScaler(), hasher).fit_transform(X)
        np.testing.assert_array_equal(symbols, clone(hasher).fit_transform(StandardScaler().fit_transform(X)))

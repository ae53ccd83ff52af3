"""What every hasher promises of its files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from rankhash import _files
from rankhash.errors import FileFormatError, InvalidInputError, RankhashError
from rankhash.hashers import load_hasher

from .inputs import (
    N_FEATURES,
    X,
    loaded_from_mutations,
)


class FileContract:
    """Tests for the fixtures ``hasher`` and ``fitted`` of the contract."""

    def test_a_loaded_hasher_is_the_same(self, fitted, tmp_path):
        fitted.save(tmp_path / "hasher")
        loaded = load_hasher(tmp_path / "hasher")
        assert type(loaded) is type(fitted)
        assert loaded.get_params() == fitted.get_params()
        assert (loaded.layout_, loaded.n_features_in_) == (fitted.layout_, fitted.n_features_in_)
        assert not hasattr(loaded, "feature_names_in_")
        np.testing.assert_array_equal(loaded.encode(X), fitted.encode(X))
        np.testing.assert_array_equal(loaded.score_tables(X), fitted.score_tables(X))
        assert loaded.fit(X).fingerprint == fitted.fingerprint

    @pytest.mark.filterwarnings("ignore:n_neighbors", "ignore:overflow")
    @pytest.mark.parametrize("kind", ["three rows", "one dimension", "huge", "tiny", "all sizes"])
    def test_what_can_be_saved_can_be_loaded(self, hasher, kind, tmp_path):
        """Odd vectors are refused by fit, or give a hasher whose file can be loaded."""
        odd = {
            "three rows": X[:3],
            "one dimension": X[:30, :1],
            "huge": np.sign(X[:30] + 0.1) * 3e38,
            "tiny": X[:30] * 1e-38,
            "all sizes": X[:30] * 10.0 ** np.linspace(-19, 19, X.shape[1]),
        }[kind].astype(np.float32)
        for labels in (None, np.arange(len(odd)) % 2):
            try:
                clone(hasher).fit(odd, labels).save(tmp_path / "hasher")
            except RankhashError:
                continue
            load_hasher(tmp_path / "hasher")

    def test_a_loaded_hasher_knows_the_names_of_the_features(self, hasher, tmp_path):
        frame = pd.DataFrame(X, columns=[f"ä{i}" for i in range(N_FEATURES)])
        hasher.fit(frame).save(tmp_path / "hasher")
        loaded = load_hasher(tmp_path / "hasher")
        np.testing.assert_array_equal(loaded.feature_names_in_, hasher.feature_names_in_)
        np.testing.assert_array_equal(loaded.encode(frame), hasher.encode(frame))
        with pytest.raises(InvalidInputError, match="feature names should match"):
            loaded.encode(frame.iloc[:, ::-1])

    def test_a_random_state_object_is_saved_as_none(self, hasher, tmp_path):
        hasher.set_params(random_state=np.random.RandomState(0)).fit(X).save(tmp_path / "hasher")
        loaded = load_hasher(tmp_path / "hasher")
        assert loaded.random_state is None
        np.testing.assert_array_equal(loaded.encode(X), hasher.encode(X))

    def test_numpy_numbers_are_saved_as_numbers(self, hasher, tmp_path):
        hasher.set_params(n_symbols=np.int64(5)).fit(X).save(tmp_path / "hasher")
        assert load_hasher(tmp_path / "hasher").n_symbols == 5

    def test_mutated_files_are_refused_or_unharmed(self, fitted, tmp_path):
        codes = fitted.encode(X)
        for loaded in loaded_from_mutations(fitted, tmp_path / "hasher", 300):
            assert loaded.get_params() == fitted.get_params()
            np.testing.assert_array_equal(loaded.encode(X), codes)

    @pytest.mark.parametrize(
        "change",
        [
            {"method": "Unknown"},
            {"method": ["LSH"]},
            {"parameters": {"unknown": 1}},
            {"parameters": None},
            {"n_symbols": 3},
            {"n_symbols": 10**9},
            {"arity": 1},
            {"arity": 13},
            {"n_features": 0},
            {"n_features": 2},
            {"n_features": 10**18},
            {"n_features": True},
            {"n_features": None},
            {"feature_names": ["a"]},
            {"feature_names": [1] * N_FEATURES},
            {"feature_names": 7},
            {"fingerprint": ""},
            {"fingerprint": None},
        ],
        ids=str,
    )
    def test_a_file_with_a_nonsensical_header_is_refused(self, fitted, tmp_path, change):
        path = tmp_path / "hasher"
        fitted.save(path)
        header, tensors = _files.read_file(path, "hasher")
        _files.write_file(path, tensors, header | change, "hasher")
        with pytest.raises(FileFormatError, match="hasher "):
            load_hasher(path)

    def test_a_file_with_other_arrays_is_refused(self, fitted, tmp_path):
        path = tmp_path / "hasher"
        fitted.save(path)
        header, tensors = _files.read_file(path, "hasher")
        name = next(name for name in tensors if name in fitted._code_arrays)
        for array in (
            tensors[name][:-1],
            tensors[name][..., None],
            tensors[name].astype(np.float64),
            tensors[name] + 1,
        ):
            _files.write_file(path, tensors | {name: array}, header, "hasher")
            with pytest.raises(FileFormatError, match="does not describe a usable"):
                load_hasher(path)
        for others in ({}, tensors | {"extra": tensors[name]}):
            _files.write_file(path, others, header, "hasher")
            with pytest.raises(FileFormatError, match="its arrays do not fit together"):
                load_hasher(path)

"""What hashers promise that learn one function at a time: a history, a callback, a report and a progress bar."""

import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import oracles
from rankhash.hashers import load_hasher

from .inputs import X
from .pairs import LinearCodes, NeighborContract


def average_precision_of_neighbors(hasher, vectors, n_train=900, n_queries=300):
    """How well codes of held-out queries find their neighbours among the vectors that were learned from."""
    database, queries = vectors[:n_train], vectors[n_train : n_train + n_queries]
    radius = np.sort(cdist(database, database), axis=1)[:, 50].mean()
    relevant = cdist(queries, database) <= radius
    hasher.fit(database)
    distances = oracles.hamming(hasher.transform(queries), hasher.transform(database))
    return oracles.average_precision(distances, relevant)


class ProgressContract:
    """Tests of the progress bar, for the fixture ``hasher``."""

    def test_nothing_is_printed_unless_on_a_terminal(self, hasher, capsys, monkeypatch):
        monkeypatch.setattr("rankhash.hashers.progress.DELAY", -1.0)
        hasher.fit(X)
        assert capsys.readouterr() == ("", "")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        clone(hasher).set_params(verbose=False).fit(X)
        assert capsys.readouterr() == ("", "")
        clone(hasher).fit(X)
        assert "learning" in capsys.readouterr().out


class LearnerContract(LinearCodes, ProgressContract, NeighborContract):
    """Tests for the fixture ``hasher``, with few pairs and ``n_neighbors`` below half of the 67 vectors."""

    history_names = frozenset({"step", "function", "n_pairs", "bound", "updated", "changed"})

    def test_the_course_of_learning_is_kept(self, fitted):
        history = fitted.history_
        assert sorted({*history["function"]}) == list(range(fitted.n_symbols))
        assert history["step"].count(0) == fitted.n_symbols
        assert np.isfinite(history["bound"]).all()
        assert fitted.n_iter_ == max(history["n_pairs"])

    def test_the_callback_hears_of_every_function(self, hasher, tmp_path):
        heard = []
        hasher.set_params(callback=heard.append).fit(X)
        assert [news["function"] for news in heard] == list(range(hasher.n_symbols))
        assert {"n_functions", "n_pairs", "bound", "changed"} <= heard[0].keys()
        hasher.save(tmp_path / "hasher")
        assert load_hasher(tmp_path / "hasher").callback is None

    def test_the_report_has_a_line_per_function(self, fitted, hasher, tmp_path):
        lines = fitted.report().splitlines()
        assert len(lines) == fitted.n_symbols + 3
        np.testing.assert_allclose(fitted.balance_.sum(axis=1), 1, rtol=1e-5)
        assert ((fitted.agreement_ >= 0) & (fitted.agreement_ <= 1)).all()
        fitted.save(tmp_path / "hasher")
        assert load_hasher(tmp_path / "hasher").report() == fitted.report()
        with pytest.raises(NotFittedError):
            clone(hasher).report()

    def test_balance_and_agreement_are_those_of_the_codes(self, fitted):
        symbols = fitted.transform(X)
        for function, shares in enumerate(fitted.balance_):
            counts = np.bincount(symbols[:, function], minlength=fitted.arity)
            np.testing.assert_allclose(shares, counts / len(X), atol=2 / len(X))

"""Products of matrices have one thread during fits, and as many as before afterwards."""

from __future__ import annotations

from threadpoolctl import threadpool_info, threadpool_limits

from rankhash.hashers import ITQ

from .inputs import X


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_a_fit_has_one_thread(monkeypatch):
    seen = []
    learn = ITQ._learn
    monkeypatch.setattr(ITQ, "_learn", lambda *given: (seen.append(blas_threads()), learn(*given))[1])
    with threadpool_limits(2, "blas"):
        ITQ(8, random_state=0).fit(X)
        assert (seen, blas_threads()) == ([{1}], {2})

"""The benchmark harness: it resumes, and recognises wrong answers."""

from __future__ import annotations

import re
import socket
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmark_scripts import BENCHMARKS, ORIGIN, keep
from harness import answers, timing
from harness.provenance import refuse_private_names
from harness.results import RESULTS, Row, read_results
from harness.running import FOLDERS, Run, agrees, benchmarks, measure
from rankhash import Collection
from systems import soak
from systems._soak_clients import Ledger, Tally, vectors_of

# -- results ---------------------------------------------------------------------------------------------------------


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = [Row({"n": n}, {"ms": n / 3, "agree": None}, ORIGIN | {"commit": f"{n % 2}"}) for n in range(5)]
    keep(tmp_path, "speed/some", *rows)
    kept = read_results("speed/some", tmp_path)
    assert kept.rows == rows
    assert [origin["commit"] for origin in kept.origins] == ["0", "1"]
    assert not read_results("speed/other", tmp_path).rows


@pytest.mark.parametrize("path", sorted(RESULTS.glob("[!r]*/*.json")), ids=lambda path: path.stem)
def test_kept_results_have_one_shape_and_name_their_origin(path: Path) -> None:
    name = f"{path.parent.name}/{path.stem}"
    kept = read_results(name)
    assert benchmarks()[path.stem] == name
    assert path.read_text(encoding="utf-8") == kept.text()
    assert len({str(row.key) for row in kept}) == len(kept.rows) > 0
    assert all(origin["commit"] for origin in kept.origins)
    assert any({"cpu", "isa", "date", "versions", "cores"} <= origin.keys() for origin in kept.origins)
    assert agrees(kept)


def test_names_of_benchmarks_differ_and_each_has_rows() -> None:
    paths = [path for folder in FOLDERS for path in (BENCHMARKS / folder).iterdir()]
    names = [path.stem for path in paths if path.suffix == ".py" and not path.name.startswith("_")]
    assert sorted(names) == sorted(benchmarks())
    assert all("\ndef rows(run: Run)" in path.read_text() for path in paths if path.stem in benchmarks())


def test_the_readme_lists_every_benchmark_and_file_of_the_harness() -> None:
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| (\w+/\w+) \|", text, re.M)) == sorted(benchmarks().values())
    for folder in ("harness", "drawing"):
        for path in (BENCHMARKS / folder).glob("[!_]*.py"):
            assert path.name in text, path.name


def test_private_names_are_refused() -> None:
    refuse_private_names('{"cpu": "Some CPU"}')
    for private in (socket.gethostname(), str(Path.home()), str(BENCHMARKS.parent)):
        if len(private) > 3:
            with pytest.raises(RuntimeError, match="must not name this machine"):
                refuse_private_names(f"measured at {private}")


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A benchmark of three rows that notes what it measures, in the place of ``memory``."""
    measured: list[int] = []

    def rows(run: Run) -> Any:
        for key in run.wanted({"n": n} for n in (1, 2, 3)):
            measured.append(key["n"])
            yield Row(key, {"twice": 2 * key["n"], "agree": key["n"] != 3})

    monkeypatch.setattr("harness.running.load_benchmark", lambda _: SimpleNamespace(rows=rows))
    return measured


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, counting: list[int]) -> None:
    measure("memory", Run(only=("n=2",)), tmp_path)
    assert counting == [2]
    found = measure("memory", Run(), tmp_path)
    assert counting == [2, 1, 3]
    assert [row["n"] for row in found] == [1, 2, 3]
    assert [row["n"] for row in read_results("speed/memory", tmp_path)] == [1, 2, 3]
    measure("memory", Run(), tmp_path)
    assert counting == [2, 1, 3]
    measure("memory", Run(again=True, only=("n=1",)), tmp_path)
    assert counting == [2, 1, 3, 1]
    assert not agrees(found)


def test_every_row_has_the_origin_of_its_own_run(tmp_path: Path, counting: list[int]) -> None:
    old = Row({"n": 1}, {"twice": 2}, ORIGIN)
    keep(tmp_path, "speed/memory", old)
    found = measure("memory", Run(), tmp_path).rows
    assert counting == [2, 3]
    assert found[0] == old
    assert found[1].origin == found[2].origin != ORIGIN
    assert {"load_before", "load_after", "kernel", "blas", "cpu", "commit", "isa"} <= found[1].origin.keys()


# -- answers and clocks ----------------------------------------------------------------------------------------------


def test_wrong_answers_are_recognised() -> None:
    whole, real = np.array([3.0, 1.0, 1.0, 2.0, np.inf]), np.array([3.5, 1.25, 1.5, 2.5, np.inf])
    assert answers.is_exact(np.array([1, 2, 3]), np.array([1, 1, 2]), whole)
    assert not answers.is_exact(np.array([2, 1, 3]), np.array([1, 1, 2]), whole)
    assert not answers.is_exact(np.array([1, 2, 3]), np.array([1, 1, 3]), whole)
    assert not answers.is_exact(np.array([1, 1, 3]), np.array([1, 1, 2]), whole)
    assert answers.is_exact(np.array([1, 2, 3, 0, -1]), np.array([1, 1, 2, 3, 99]), whole)
    assert not answers.is_exact(np.array([1, 2, 3, 0, 4]), np.array([1, 1, 2, 3, 99]), whole)
    assert answers.is_exact(np.array([1, 2]), np.array([1.25, 1.5 + 1e-6]), real)
    assert not answers.is_exact(np.array([1, 3]), np.array([1.25, 2.5]), real)


def test_peer_may_differ_only_at_the_last_distance() -> None:
    ours = SimpleNamespace(ids=np.array([[4, 7, 8]]), distances=np.array([[1, 2, 2]], np.float32))
    assert answers.same_up_to_ties(ours, np.array([[4, 9, 7]]), np.array([[2, 4, 4]]), 2)
    assert not answers.same_up_to_ties(ours, np.array([[5, 7, 8]]), np.array([[2, 4, 4]]), 2)
    assert not answers.same_up_to_ties(ours, np.array([[4, 7, 8]]), np.array([[2, 4, 6]]), 2)


def test_work_in_another_thread_is_refused() -> None:
    def elsewhere() -> None:
        thread = threading.Thread(target=lambda: sum(range(1_000_000)))
        thread.start()
        thread.join()

    with pytest.raises(RuntimeError, match="other threads"):
        timing.one_thread({"ours": elsewhere}, repeats=3)


def test_the_soak_notices_what_is_lost_or_changed(tmp_path: Path) -> None:
    sizes = replace(soak.QUICK, base=20)
    ledger = Ledger(1, {"w1-0": 2})
    soak.create(tmp_path / "items.rankhash", sizes)

    def failures() -> list[str]:
        tally = Tally()
        soak.verify(tmp_path / "items.rankhash", [ledger], sizes, tally)
        return tally.failures

    assert failures() == ["lost w1-0"]
    with Collection.open(tmp_path / "items.rankhash", "rw") as items:
        fields = {"writer": 1, "n": 0, "version": 1}
        items.add(vectors_of(["w1-0"], [1], sizes.n_features), ["w1-0"], [fields])
        assert failures() == ["w1-0 is not of version 2"]
        items.upsert(vectors_of(["w1-0"], [1], sizes.n_features), ["w1-0"], [fields | {"version": 2}])
        assert failures() == ["w1-0 is not of version 2"]
        items.upsert(vectors_of(["w1-0"], [2], sizes.n_features), ["w1-0"], [fields | {"version": 2}])
        assert failures() == []
        items.delete(["base-3"])
        assert failures() == ["lost base-3"]
        items.add(vectors_of(["x"], [0], sizes.n_features), ["x"])
        assert failures() == ["lost base-3", "x was deleted"]


@pytest.mark.parametrize(
    ("there", "problems"),
    [({"w1-0": 1, "w1-1": 0}, []), ({"w1-0": 0}, []), ({"w1-0": 1}, ["kept by halves", "not of"])],
)
def test_the_soak_settles_the_last_change_of_a_writer(
    tmp_path: Path, there: dict[str, int], problems: list[str]
) -> None:
    sizes, path, tally = replace(soak.QUICK, base=1), tmp_path / "items.rankhash", Tally()
    soak.create(path, sizes)
    with Collection.open(path, "rw") as items:
        fields = [{"version": version} for version in there.values()]
        items.add(vectors_of([*there], [*there.values()], sizes.n_features), [*there], fields)
    soak.verify(path, [Ledger(1, {"w1-0": 0}, unsure={"w1-0": 1, "w1-1": 0})], sizes, tally)
    assert len(tally.failures) == len(problems)
    assert all(part in failure for part, failure in zip(problems, tally.failures, strict=True))

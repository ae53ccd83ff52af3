"""``rankhash reproduce``."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from rankhash import ITQ
from rankhash.cli import main
from rankhash.evaluation import run as run_module
from rankhash.evaluation import store as store_module

SMALL = ("--method", "LSH", "--method", "ITQ", "--length", 8, "--length", 16, "--runs", 2)


def reproduce(out, *args):
    return CliRunner().invoke(main, ["reproduce", *(str(arg) for arg in args), "--out", str(out)])


@pytest.fixture
def counted(monkeypatch):
    """Counts the runs that are done."""
    done = []
    real = run_module.run_task
    monkeypatch.setattr(run_module, "run_task", lambda experiment, task: (done.append(task), real(experiment, task))[1])
    return done


def test_report_is_written_and_a_second_command_does_nothing_again(tmp_path, counted):
    result = reproduce(tmp_path, "digits", *SMALL)
    assert result.exit_code == 0, result.output
    assert len(counted) == 2 * 2 * 2
    with (tmp_path / "report.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == {"LSH", "ITQ"}
    assert {row["runs"] for row in rows} == {"2"}
    assert "| ITQ |" in (tmp_path / "report.md").read_text(encoding="utf-8")
    again = reproduce(tmp_path, "digits", *SMALL)
    assert len(counted) == 8
    assert "8 of 8 runs are finished already" in again.output
    assert reproduce(tmp_path, "digits", *SMALL, "--again").exit_code == 0
    assert len(counted) == 16


def test_a_report_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "report.html").mkdir()
    result = reproduce(tmp_path, "digits", "--method", "LSH", "--length", 8, "--runs", 1)
    assert result.exit_code == 2
    assert "the report cannot be written" in result.output
    assert not list(tmp_path.glob(".*.part"))


def test_a_run_that_was_stopped_goes_on(tmp_path, counted, monkeypatch):
    real = run_module.run_task

    def stopped(experiment, task):
        if len(counted) == 3:
            raise KeyboardInterrupt
        return real(experiment, task)

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "run_task", stopped)
        result = reproduce(tmp_path, "digits", *SMALL)
    assert result.exit_code == 1
    assert "the same command resumes" in result.output
    assert reproduce(tmp_path, "digits", *SMALL).exit_code == 0
    assert len(counted) == 8


def test_a_torn_or_damaged_line_is_run_again(tmp_path, counted):
    reproduce(tmp_path, "digits", *SMALL)
    path = tmp_path / "raw" / "digits" / "ITQ.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{damaged\n", *lines[2:-1], lines[-1][: len(lines[-1]) // 2]]))
    reproduce(tmp_path, "digits", *SMALL)
    assert len(counted) == 8 + 2
    assert all(json.loads(line) for line in path.read_bytes().splitlines() if line != b"{damaged")


def test_a_full_disk_is_a_sentence_and_finished_runs_are_kept(tmp_path, counted, monkeypatch):
    real = store_module.os.fsync

    def full(descriptor):
        if len(counted) > 3:
            raise OSError(28, "No space left on device")
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(store_module.os, "fsync", full)
        result = reproduce(tmp_path, "digits", *SMALL)
    assert result.exit_code == 2
    assert "the disk is full" in result.output
    assert "Traceback" not in result.output
    kept = [line for path in (tmp_path / "raw").rglob("*.jsonl") for line in path.read_bytes().splitlines()]
    assert len([json.loads(line) for line in kept]) == 3
    reproduce(tmp_path, "digits", *SMALL)
    assert len(counted) == 4 + 5


def test_two_jobs_find_what_one_finds(tmp_path):
    args = ("digits", "--method", "LSH", "--length", 8, "--runs", 2)
    one, two = (reproduce(tmp_path / jobs, *args, "--jobs", jobs) for jobs in ("1", "2"))
    assert one.exit_code == two.exit_code == 0, two.output
    found = []
    for jobs in ("1", "2"):
        lines = (tmp_path / jobs / "raw" / "digits" / "LSH.jsonl").read_text().splitlines()
        rows = sorted((json.loads(line) for line in lines), key=lambda row: row["seed"])
        found.append([(row["seed"], row["ap"], row["hits"]) for row in rows])
    assert found[0] == found[1]


def test_tuning_chooses_parameters_and_the_arity_at_each_length(tmp_path, monkeypatch):
    method = run_module.METHODS["RSH"]
    quick = type(method)("RSH", "RSH", {"max_pairs": 500}, {"rho": [0.7, 1.4]})
    monkeypatch.setattr("rankhash.evaluation.methods.ARITIES", (2, 8))
    monkeypatch.setitem(run_module.METHODS, "RSH", quick)
    monkeypatch.setattr("rankhash.evaluation.methods.choose_methods", lambda _: [quick])
    result = reproduce(tmp_path, "digits", "--train", 200, "--length", 8, "--runs", 1, "--tune")
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (tmp_path / "raw" / "digits" / "RSH.jsonl").read_text().splitlines()]
    assert {(row["tuned_for"], row["length"]) for row in rows} == {("symbols", 8), ("bits", 8)}
    assert {row["parameters"]["rho"] for row in rows} <= {0.7, 1.4}
    for row in rows:
        assert (row["bits"] if row["tuned_for"] == "bits" else row["n_symbols"]) in (6, 8)
    assert "RSH (tuned)" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_a_tuned_run_that_was_stopped_goes_on(tmp_path, monkeypatch):
    method = run_module.METHODS["SRSH"]
    quick = type(method)("SRSH", "SRSH", {"max_pairs": 500, "arity": 2}, {"rho": [0.5, 2.0]})
    monkeypatch.setitem(run_module.METHODS, "SRSH", quick)
    monkeypatch.setattr("rankhash.evaluation.methods.choose_methods", lambda _: [quick])
    searches, real = [], run_module.tune

    def tune(*given, random_state, **known):
        if random_state in searches:
            pytest.fail(f"split {random_state} is tuned twice")
        if random_state == 102 and 102 not in stopped:
            stopped.append(102)
            raise KeyboardInterrupt
        searches.append(random_state)
        return real(*given, random_state=random_state, **known)

    stopped = []
    monkeypatch.setattr(run_module, "tune", tune)
    args = ("digits", "--train", 200, "--length", 8, "--length", 16, "--runs", 3, "--tune")
    result = reproduce(tmp_path, *args)
    assert result.exit_code == 1
    assert "the same command resumes" in result.output
    again = reproduce(tmp_path, *args)
    assert again.exit_code == 0, again.output
    assert "8 of 12 runs are finished already" in again.output
    assert searches == [100, 101, 102]


def test_codes_that_are_the_same_on_both_axes_are_learned_once(tmp_path, monkeypatch):
    fits, real = [], ITQ.fit
    monkeypatch.setattr(ITQ, "fit", lambda self, *given, **known: (fits.append(1), real(self, *given, **known))[1])
    lengths = ("--length", 8, "--length", 16)
    result = reproduce(tmp_path, "digits", "--method", "ITQ", "--train", 210, *lengths, "--runs", 1, "--tune")
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (tmp_path / "raw" / "digits" / "ITQ.jsonl").read_text().splitlines()]
    assert sorted((row["tuned_for"], row["n_symbols"]) for row in rows) == [
        ("bits", 8),
        ("bits", 16),
        ("symbols", 8),
        ("symbols", 16),
    ]
    assert len({(row["n_symbols"], row["ap"]) for row in rows}) == len(fits) == 2


def test_a_method_that_cannot_learn_is_left_out_with_the_reason(tmp_path):
    result = reproduce(
        tmp_path, "digits", "--method", "LSH", "--method", "RSH", "--length", 5000, "--length", 8, "--runs", 1
    )
    assert result.exit_code == 2
    assert "n_symbols must be an integer from 1 to 4096" in result.output


def test_classes_can_be_the_truth_and_the_database_apart(tmp_path):
    args = ("--method", "SRSH", "--length", 8, "--runs", 1, "--axis", "symbols", "--truth", "classes")
    result = reproduce(tmp_path, "digits", *args, "--train", 500, "--database", 900, "--queries", 300)
    assert result.exit_code == 0, result.output
    row = json.loads((tmp_path / "raw" / "digits" / "SRSH.jsonl").read_text())
    assert (row["n_database"], row["n_queries"]) == (900, 300)
    assert row["map"] > 0.6
    assert sum(row["found"]) == 900 * 300


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("digit",), "did you mean digits"),
        (("digits", "--method", "SRHS"), "did you mean SRSH"),
        (("digits", "--train", 1797), "digits has 1797 vectors, but the split needs 1797 + 1"),
        (("digits", "--queries", 900), "the split needs 1000 + 900"),
        (("digits", "--report-only"), "no finished run"),
        (("digits", "--length", 0), "code lengths must be 1 or more"),
        (("labelme",), "put labelme.mat"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(tmp_path, monkeypatch, args, message):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = reproduce(tmp_path, *args)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_runs_of_other_settings_or_another_file_are_not_mixed(tmp_path, rng):
    args = ("--method", "LSH", "--length", 8, "--runs", 1, "--train", 100)
    for folder, scale in (("a", 1.0), ("b", 2.0)):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "mine.npy", rng.normal(size=(400, 6)) * scale)
        assert reproduce(tmp_path, tmp_path / folder / "mine.npy", *args).exit_code == 0
    assert reproduce(tmp_path, tmp_path / "a" / "mine.npy", *args, "--queries", 50).exit_code == 0
    assert len((tmp_path / "raw" / "mine" / "LSH.jsonl").read_text().splitlines()) == 3
    with (tmp_path / "report.csv").open() as file:
        assert {row["runs"] for row in csv.DictReader(file)} == {"1"}

"""``rankhash reproduce`` of pictures and texts: both directions, both databases, resumed runs, the report."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from rankhash.cli import main
from rankhash.evaluation import view_runs


@pytest.fixture
def wiki(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    image, text = (rng.normal(size=(3, d))[y] + rng.normal(size=(120, d)) / 2 for d in (6, 4))
    halves = {"train": slice(90), "test": slice(90, 120)}
    arrays = {"img": image, "txt": text, "y": y}
    np.savez(tmp_path / "wiki.npz", **{f"{a}_{h}": arrays[a][rows] for a in arrays for h, rows in halves.items()})
    return tmp_path


def reproduce(folder, *args):
    return CliRunner().invoke(main, ["reproduce", "wiki", "--data", str(folder), "--out", str(folder / "out"), *args])


FEW = ("--method", "LSRH", "--method", "CCAITQ", "--length", "4", "--length", "8", "--runs", "2")


def test_the_report_has_both_directions_and_databases(wiki):
    done = reproduce(wiki, *FEW)
    assert done.exit_code == 0, done.output
    page, text = ((wiki / "out" / f"report.{end}").read_text() for end in ("html", "md"))
    for direction in ("image → text", "text → image"):
        assert text.count(f"### {direction}") == 4  # two databases, mAP of all and of the first 50
        assert direction in page
    assert "none of which was learned from" in page
    assert page.count("<svg class=plot") == 2 * 2 * 2  # precision over recall: databases, directions, lengths
    assert "90 training items, 30 queries" in text
    for report in (page, text):
        assert "its expected value over all orders of the ties" in report


def test_numbers_of_the_report_are_those_of_the_raw_results(wiki):
    assert reproduce(wiki, *FEW).exit_code == 0
    lines = (wiki / "out/raw/wiki/LSRH.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert {(row["bits"], row["seed"]) for row in rows} == {(b, s) for b in (4, 8) for s in (100, 101)}
    found = [row["seen"][0]["map"] for row in rows if row["bits"] == 8]
    shown = next(line for line in (wiki / "out/report.md").read_text().splitlines() if line.startswith("| LSRH"))
    assert f"{np.mean(found):.3f}" in shown
    assert min(found) > 0.6  # three classes that are easy to tell apart: by chance .33


def test_finished_runs_are_not_run_again(wiki, monkeypatch):
    assert reproduce(wiki, *FEW).exit_code == 0
    monkeypatch.setattr(view_runs, "VIEW_METHODS", dict.fromkeys(view_runs.VIEW_METHODS))  # none can be made
    assert reproduce(wiki, *FEW).exit_code == 0
    assert reproduce(wiki, "--again", *FEW).exit_code != 0


def test_a_method_that_cannot_learn_is_left_out_with_the_reason(wiki):
    done = reproduce(wiki, "--method", "CCAITQ", "--method", "SCM", "--length", "8", "--length", "70000", "--runs", "1")
    assert done.exit_code == 0, done.output
    assert "at 70000 bits is left out" in done.output
    assert "| SCM |" in (wiki / "out/report.md").read_text()


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["reproduce", "wiki", "digits", "--data", "."], "run the other sets apart"),
        (["reproduce", "wiki"], "say where they are with --data"),
        (["reproduce", "wiki", "--data", "nowhere"], "wiki needs one of"),
    ],
)
def test_mistakes_are_one_sentence(args, sentence):
    done = CliRunner().invoke(main, args)
    assert done.exit_code == 2
    assert sentence in done.output


def test_an_unknown_method_is_a_sentence(wiki):
    done = reproduce(wiki, "--method", "LSHR")
    assert done.exit_code == 2
    assert "LSRH" in done.output

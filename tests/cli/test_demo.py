"""``rankhash demo``."""

from __future__ import annotations

from click.testing import CliRunner

from rankhash.cli import demo, main


def test_demo_says_how_good_the_answers_are_and_where_its_report_is(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "LENGTHS", (8, 16))
    monkeypatch.setattr(demo, "METHODS", ("LSH", "ITQ", "of tomorrow"))
    result = CliRunner().invoke(main, ["demo", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "same digit" in result.output
    assert "One query and what was found" in result.output
    assert f"The report is in {tmp_path.resolve() / 'report.html'}" in result.output
    assert "plotly" in (tmp_path / "report.html").read_text(encoding="utf-8")

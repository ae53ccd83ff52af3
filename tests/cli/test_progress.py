"""Long commands show how far they are and how much time is left."""

from __future__ import annotations

import io
import sys

from rankhash.cli import _progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_without_a_terminal_lines_say_how_much_time_is_left(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    for item in _progress.with_progress(range(9), 9, "mnist"):
        now[0] += 200 if item < 3 else 5
    assert capsys.readouterr().err.splitlines() == [
        "mnist: 1 of 9, about 27 min left",
        "mnist: 2 of 9, about 23 min left",
        "mnist: 3 of 9, about 20 min left",
    ]


def test_short_commands_say_nothing(capsys):
    assert [*_progress.with_progress("ab", 2, "letters")] == ["a", "b"]
    assert capsys.readouterr().err == ""


def test_a_terminal_has_a_bar(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    assert [*_progress.with_progress("ab", 2, "letters")] == ["a", "b"]
    assert "letters" in stream.getvalue()
    assert "left" in stream.getvalue()

"""The progress bar of fits."""

import sys

from rankhash.hashers import progress


def test_the_bar_shows_the_value_reached(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", -1.0)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with progress.FitProgress(3, "learning", shown=True) as bar:
        bar.advance()
        assert bar._bar.tasks[0].description == "learning"
        bar.advance(0.25)
        task = bar._bar.tasks[0]
        assert (task.description, task.completed, task.total) == ("learning, objective 0.250", 2, 3)

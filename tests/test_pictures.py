"""The pictures of the docs: every tutorial has one, they are small, and a script draws each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "tutorial").glob("*.md")), ids=lambda p: p.name)
def test_every_tutorial_has_a_picture_on_a_ground_of_its_own(page):
    """So that it fits the light and the dark theme, here and on other sites."""
    shown = re.findall(r"!\[[^\]]{20,}\]\((\.\./images/[\w.]+)\)", page.read_text())
    assert shown
    for picture in shown:
        drawn = (page.parent / picture).read_text(encoding="utf-8")
        assert len(drawn) < 200_000
        assert "fill: #ffffff" in drawn.partition('<g id="axes_1">')[0]


def test_every_picture_is_shown_and_has_a_script():
    images = {path.stem for path in (ROOT / "docs" / "images").glob("*.svg")}
    texts = " ".join(path.read_text(encoding="utf-8") for path in TEXTS)
    assert {name for name in images if f"images/{name}.svg" not in texts} == set()
    drawn = re.findall(r'^    "(\w+)": ', (ROOT / "tools" / "pictures.py").read_text(encoding="utf-8"), re.MULTILINE)
    rendered = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*/*.py"))
    assert {name for name in images if name not in drawn and name not in rendered} == set()

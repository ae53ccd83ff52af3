"""The page's files: all there, with nothing that a strict policy forbids, in colours that everybody can tell apart."""

from __future__ import annotations

import re
from importlib.resources import files

import numpy as np
import pytest

PAGE = files("rankhash.server") / "page"
TEXTS = {file.name: file.read_text(encoding="utf-8") for file in PAGE.iterdir()}
SURFACES = {"light": "#ffffff", "dark": "#161a20"}

# How people see who lack one kind of cone: Machado, Oliveira, Fernandes (2009), severity 1, for linear RGB.
VISION = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
# Linear RGB to OKLab: Ottosson (2020).
CONES = [
    [0.41222147, 0.53633254, 0.05144599],
    [0.21190350, 0.68069955, 0.10739696],
    [0.08830246, 0.28171884, 0.62997870],
]
OKLAB = [
    [0.21045426, 0.79361779, -0.00407205],
    [1.97799850, -2.42859221, 0.45059371],
    [0.02590404, 0.78277177, -0.80867577],
]


def linear(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = np.array([int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """The ratio of WCAG 2."""
    low, high = sorted(linear(colour) @ [0.2126, 0.7152, 0.0722] for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def palette(scheme, letter="s"):
    light, dark = TEXTS["palette.css"].split("@media")
    text = {"light": light, "dark": dark.split("\n}\n")[0]}[scheme]
    return [re.search(rf"--{letter}{i}: (#\w+);", text)[1] for i in range(16)]


def test_files_name_each_other_and_nothing_else():
    named = set(re.findall(r'(?:src|href)="static/([^"]+)"', TEXTS["index.html"]))
    for text in TEXTS.values():
        named |= set(re.findall(r'from "\./([^"]+)"', text))
    assert named | {"index.html"} == set(TEXTS)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_file_needs_no_other_host_and_no_exception_from_the_policy(name):
    text = TEXTS[name]
    hosts = set(re.findall(r"\w+://[^\s\"'`]+", text)) - {"http://www.w3.org/2000/svg"}
    assert not hosts
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc", text)
    assert not re.search(r"<style|\sstyle=|\son\w+=\"|javascript:|<script>|setAttribute\(\"style", text)
    assert "@import" not in text


@pytest.mark.parametrize("scheme", SURFACES)
def test_digits_can_be_read_in_their_cells(scheme):
    for cell, digit in zip(palette(scheme), palette(scheme, "g"), strict=True):
        assert contrast(cell, digit) >= 4.5, cell


@pytest.mark.parametrize("scheme", SURFACES)
def test_cells_stand_out_from_the_surface(scheme):
    ratios = [contrast(cell, SURFACES[scheme]) for cell in palette(scheme)]
    assert min(ratios[:4]) >= 3
    assert min(ratios) >= 1.6


@pytest.mark.parametrize("scheme", SURFACES)
@pytest.mark.parametrize("vision", VISION)
def test_values_differ_for_every_kind_of_colour_vision(scheme, vision):
    seen = np.clip([VISION[vision] @ linear(colour) for colour in palette(scheme)], 0, 1)
    places = np.cbrt(seen @ np.transpose(CONES)) @ np.transpose(OKLAB)
    apart = np.linalg.norm(places[:, None] - places, axis=2) + 9 * np.eye(16)
    assert apart[:2, :2].min() > 0.2
    assert apart[:4, :4].min() > 0.1
    assert apart[:8, :8].min() > 0.075
    assert apart.min() > 0.065

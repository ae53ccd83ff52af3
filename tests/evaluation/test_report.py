"""The report: complete, self-contained, right in a real browser, readable by colour-blind people and on a phone."""

from __future__ import annotations

import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

from rankhash.datasets import load_dataset
from rankhash.evaluation import _figures, report
from rankhash.evaluation._figures import FIGURES, styles
from rankhash.evaluation.images import png
from rankhash.evaluation.methods import METHODS, Method, choose_methods
from rankhash.evaluation.run import Experiment, run_task
from rankhash.evaluation.store import Store

LENGTHS = (8, 32)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Three runs of three methods on the digits."""
    store = Store(tmp_path_factory.mktemp("raw"))
    data = load_dataset("digits")
    methods = tuple(choose_methods(["LSH", "WTA", "ITQ"]))
    experiment = Experiment(data, methods, LENGTHS, seeds=(100, 101, 102))
    groups = experiment.groups(experiment.missing(store))
    assert len(list(experiment.run(groups, store))) == len(experiment.tasks())
    return data, store.rows("digits")


@pytest.fixture(scope="module")
def page(results, tmp_path_factory):
    data, rows = results
    return report.write_report([data], {"digits": rows}, LENGTHS, tmp_path_factory.mktemp("report"))


def with_course(row, seed, steps=(0, 5, 11)):
    course = {"step": [*steps], "value": [0.1, 0.2, 0.3 + seed / 10], "average_precision": [0.2, 0.4, 0.5]}
    return row | {"method": "JRSH", "seed": seed, "course": course | {"balance": [1.5, 1.7, 1.9]}}


def test_the_course_of_learning_is_drawn_for_methods_that_note_it(results, tmp_path):
    data, rows = results
    row = next(row for row in rows if row["bits"] == 32)
    learned = [with_course(row, 0), with_course(row, 1), with_course(row, 2, steps=(0, 5, 9))]
    learned[2], learned[1] = learned[1], learned[2]
    drawn = _figures.learning_figures([*rows, *learned], LENGTHS, ["LSH", "JRSH"])
    assert [figure["key"] for figure in drawn] == ["learning-value", "learning-average_precision", "learning-balance"]
    band, line = drawn[0]["data"]
    assert line["name"] == "JRSH"
    assert line["x"] == [0, 5, 11]
    assert line["y"] == [0.1, 0.2, 0.35]
    assert drawn[2]["data"][1]["y"] == [1.5, 1.7, 1.9]
    assert max(band["y"]) > 0.35
    text = body_of(report.write_report([data], {"digits": [*rows, *learned]}, LENGTHS, tmp_path))
    assert text.count('data-figure="digits-learning-') == 3


def test_pages_of_methods_that_note_nothing_have_no_course(page):
    assert "learning-value" not in body_of(page)


def test_runs_keep_the_course_of_learning_of_jrsh(monkeypatch):
    monkeypatch.setitem(METHODS, "JRSH", Method("JRSH", "JRSH", {"n_steps": 6}))
    experiment = Experiment(load_dataset("digits"), (METHODS["JRSH"],), (8,), ("bits",), (100,))
    [row] = (run_task(experiment, task) for task in experiment.tasks())
    assert row["course"]["step"] == [*range(6)]
    assert len(row["course"]["value"]) == len(row["course"]["balance"]) == 6


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.targets, self.images = [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.targets += [value for name, value in attrs.items() if name in ("href", "src") and value]
        if tag == "img":
            self.images.append(attrs)


def body_of(page):
    return page.read_text(encoding="utf-8")


def test_page_needs_no_other_file(page):
    links = Links()
    links.feed(body_of(page))
    assert all(target.startswith(("#", "data:image/png;base64,")) for target in links.targets)
    assert "default-src 'none'" in page.read_text(encoding="utf-8")
    assert page.stat().st_size < 2_000_000


def test_the_headline_says_who_wins_by_how_much_and_in_what_time(results):
    rows = [row for row in results[1] if row["bits"] == 32]
    means = {name: np.mean([row["ap"] for row in rows if row["method"] == name]) for name in ("LSH", "WTA", "ITQ")}
    (second, best) = sorted(means.values())[1:]
    seconds = np.mean([row["fit_seconds"] for row in rows if row["method"] == "ITQ"])
    told = report.headline(results[1], LENGTHS)
    assert means["ITQ"] == best
    assert f"<b>ITQ</b> is best at 32 bits: average precision {best:.3f}, {best - second:.3f} more than" in told
    assert f"trained in {seconds:.2g} s" in told
    assert report.headline([row for row in rows if row["method"] == "LSH"], LENGTHS) == ""


def test_examples_are_shown_at_equal_bits(results):
    assert {row["bits"] for row in results[1] if row.get("pictures")} == {32}


def test_page_shows_figures_tables_settings_and_pictures(page, results):
    text = body_of(page)
    for axis in ("symbols", "bits"):
        for key in FIGURES:
            assert f'data-figure="digits-{key}-{axis}"' in text
    for words in ("Time to train", "Time to encode", "seeds 100, 101, 102", "n_neighbors = 50", "one thread per run"):
        assert words in text
    links = Links()
    links.feed(text)
    assert len(links.images) == 6 * 3 * 11
    assert {image["alt"] for image in links.images} == {"query", "right", "wrong"}
    wrong = sum(image["alt"] == "wrong" for image in links.images)
    shown = [row["pictures"] for row in results[1] if "pictures" in row]
    assert wrong == sum(query["right"].count(0) for pictures in shown for query in pictures)


def test_numbers_of_the_tables_are_those_of_the_runs(page, results):
    values = [row["ap"] for row in results[1] if row["method"] == "ITQ" and row["n_symbols"] == 32]
    assert f"{np.mean(values):.3f}</b> <span>±{np.std(values, ddof=1):.3f}" in body_of(page)
    lines = page.with_suffix(".csv").read_text().splitlines()
    assert f"digits,bits,ap,ITQ,32,{np.mean(values):.5f},{np.std(values, ddof=1):.5f},3" in lines
    assert f"**{np.mean(values):.3f}** ± {np.std(values, ddof=1):.3f}" in page.with_suffix(".md").read_text()


def test_names_are_escaped(results, tmp_path):
    data, rows = results
    evil = "<script>alert(1)</script>"
    rows = [row | {"set": evil, "method": evil} for row in rows if row["method"] == "LSH"]
    text = report.write_report([data], {evil: rows}, LENGTHS, tmp_path).read_text(encoding="utf-8")
    assert "<script>alert" not in text


def test_methods_differ_in_more_than_colour():
    looks = styles([str(i) for i in range(28)])
    assert len({tuple(look.values()) for look in looks.values()}) == 28
    for one in range(0, 28, 7):
        group = [*looks.values()][one : one + 7]
        assert len({look["colour"] for look in group}) == 7
        assert len({look["marker"] for look in group}) == 7


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return np.dot(linear, [0.2126, 0.7152, 0.0722])


def test_lines_stand_out_from_the_paper():
    for look in styles(map(str, range(7))).values():
        assert 1.05 / (luminance(look["colour"]) + 0.05) > 2, look


def test_pictures_are_png_files(rng):
    grey = rng.integers(0, 256, (5, 7)).astype(np.uint8)
    data = png(grey)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    start = data.index(b"IDAT")
    size = int.from_bytes(data[start - 4 : start], "big")
    rows = np.frombuffer(zlib.decompress(data[start + 4 : start + 4 + size]), np.uint8).reshape(5, 8)
    np.testing.assert_array_equal(rows[:, 1:], grey)


N_PLOTS = 2 * len(FIGURES)


def test_browser_draws_every_figure_without_a_complaint(page, visit):
    opened = visit(page.as_uri(), 1280, 9000)
    assert opened.page.locator("svg.plot").count() == N_PLOTS
    assert opened.page.locator("[aria-pressed=true]").count() == 3
    heights = "[...document.querySelectorAll('svg.plot .line path')].map(path => path.getBoundingClientRect().width)"
    assert min(opened.page.evaluate(heights)) > 100
    clip = {"x": 0, "y": 0, "width": 1280, "height": 4200}
    assert opened.screenshot("report-desktop.png", clip=clip).stat().st_size > 50_000


def test_the_page_is_dark_where_the_system_is(page, visit):
    opened = visit(page.as_uri(), 1280, 2000)
    colour = "getComputedStyle(document.body).backgroundColor"
    assert opened.page.evaluate(colour) == "rgb(255, 255, 255)"
    opened.page.emulate_media(color_scheme="dark")
    assert opened.page.evaluate(colour) == "rgb(20, 24, 29)"
    opened.page.emulate_media(color_scheme="dark", media="print")
    assert opened.page.evaluate(colour) == "rgb(255, 255, 255)"


def test_on_paper_headings_stay_with_whole_tables(page, visit):
    opened = visit(page.as_uri(), 1280, 2000)
    opened.page.emulate_media(media="print")
    styles = "selector => [...document.querySelectorAll(selector)].map(node => getComputedStyle(node))"
    inside = opened.page.evaluate(f"({styles})('.table, figure').map(style => style.breakInside)")
    after = opened.page.evaluate(f"({styles})('h2, h3, h4, summary').map(style => style.breakAfter)")
    assert set(inside) == set(after) == {"avoid"}


def test_page_fits_a_phone(page, visit):
    opened = visit(page.as_uri(), 390, 9000)
    rights = "[...document.querySelectorAll('svg.plot')].map(plot => plot.getBoundingClientRect().right)"
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert max(opened.page.evaluate(rights)) <= 390
    opened.screenshot("report-phone.png", clip={"x": 0, "y": 0, "width": 390, "height": 4200})


def test_a_press_hides_a_method_in_all_figures(page, visit):
    opened = visit(page.as_uri(), 1280, 9000)
    lines = opened.page.locator("svg.plot .line:visible, svg.plot .band:visible")
    before = lines.count()
    assert before == N_PLOTS * 3 * 2
    opened.page.locator("#methods button").first.click()
    assert lines.count() == before * 2 // 3

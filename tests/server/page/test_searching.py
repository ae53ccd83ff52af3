"""What the page shows is what the collection answers."""

from __future__ import annotations

import re

import numpy as np

from rankhash import CCAITQ, Collection
from rankhash.server import Settings

from ..serving import serving
from .helpers import expect, expect_answer, found, ready


def test_first_item_is_the_query_until_one_is_chosen(shown, collections):
    page = shown().page
    expect(page.locator("#neighbours-title")).to_have_text("Neighbours of 0")
    expect(page).to_have_url(re.compile(r"\?collection=digits&id=0$"))
    assert page.locator(".card").count() == 48
    expect(page.locator("#facts")).to_contain_text("1,797 items · SRSH · 32 symbols of arity 4 (64 bits)")
    expect_answer(page, collections["digits"], 0)


def test_a_click_searches_and_so_does_a_click_on_a_neighbour(shown, collections):
    page = shown().page
    page.locator(".card").nth(17).click()
    expect(page.locator("#neighbours-title")).to_have_text("Neighbours of 17")
    expect_answer(page, collections["digits"], 17)
    expect(page.locator(".card[aria-current]")).to_have_accessible_name("item 17, label 7")
    nearest = found(page)[0]
    page.locator(".found").first.click()
    expect(page.locator("#neighbours-title")).to_have_text(f"Neighbours of {nearest}")
    expect_answer(page, collections["digits"], nearest)


def test_examples_and_counterexamples_steer_the_search(shown, collections):
    page, digits = shown("?id=17").page, collections["digits"]
    first, second = found(page)[:2]

    def expect_examples(like, unlike=()):
        wanted = digits.search(like=like, unlike=unlike).ids[0]
        expect(page.locator(".found .id")).to_have_text([str(other) for other in wanted])
        buttons = [f"{name} ×" for name in (*like, *unlike)]
        expect(page.locator(".examples button")).to_have_text(buttons)

    page.locator(".rows .row").first.hover()
    page.get_by_role("button", name=f"More like this: {first}").click()
    expect(page.locator("#neighbours-title")).to_have_text("Neighbours of examples")
    expect_examples([17, first])
    ready(page)
    third = found(page)[0]
    page.locator(".found").first.focus()
    page.keyboard.press("-")
    expect_examples([17, first], [third])
    ready(page)
    expect(page.locator("#summary")).to_contain_text("recall")
    page.reload()
    expect_examples([17, first], [third])
    page.get_by_role("button", name=f"no longer less like {third}").click()
    expect_examples([17, first])
    page.get_by_role("button", name="no longer like 17").click()
    expect(page.locator("#neighbours-title")).to_have_text(f"Neighbours of {first}")
    expect_answer(page, digits, first)
    page.go_back()
    expect_examples([17, first])
    page.locator(".card").nth(5).click()
    expect_answer(page, digits, 5)
    assert second != first


def test_examples_need_stored_vectors_and_a_list_that_can_be_read(shown, collections):
    page = shown("?collection=wines&like=[%22wine-1%22,%22wine-2%22]").page
    expect(page.locator("#neighbours-title")).to_have_text("Neighbours of wine-1")
    assert page.locator(".steer").count() == 0
    page = shown("?id=3&like={").page
    expect_answer(page, collections["digits"], 3)


def test_codes_are_those_of_the_items_and_differing_symbols_are_marked(shown, collections):
    page = shown("?id=17").page
    digits = collections["digits"]
    codes = digits.layout.unpack(np.array([item.code for item in digits.get([17, *found(page)])]))
    strips = page.locator("svg.strip")
    expect(strips).to_have_count(11)
    assert strips.first.get_attribute("aria-label") == f"Code of the query: {' '.join(map(str, codes[0]))}"
    for row, code in enumerate(codes[1:], start=1):
        differing = np.flatnonzero(code != codes[0])
        assert strips.nth(row).get_attribute("aria-label").startswith(f"{len(differing)} of 32 symbols differ")
        values = strips.nth(row).locator("text").all_text_contents()
        assert sorted(values) == sorted(map(str, code[differing]))
        assert strips.nth(row).locator(".mark").get_attribute("d").count("M") == len(differing)
        assert sum(path.count("M") for path in paths(strips.nth(row), ".same")) == 32 - len(differing)
    strips.nth(1).hover(position={"x": 3, "y": 20})
    expect(page.locator(".legend")).to_have_text(f"symbol 1: query {codes[0][0]}, here {codes[1][0]}")


def paths(strip, selector):
    return [path.get_attribute("d") for path in strip.locator(selector).all()]


def test_histogram_counts_all_items_and_marks_those_found(shown, collections):
    page = shown("?id=17&radius=5&scoring=hamming").page
    titles = page.locator("#histogram title").all_text_contents()
    numbers = [re.fullmatch(r"distance (\d+): ([\d,]+) items?, (\d+) found", title).groups() for title in titles]
    assert [int(distance) for distance, _, _ in numbers] == list(range(33))
    assert sum(int(n.replace(",", "")) for _, n, _ in numbers) == 1797
    distances = collections["digits"].search_ids([17], 10, radius=5, scoring="hamming").distances[0]
    hits = np.bincount(distances[np.isfinite(distances)].astype(int), minlength=33)
    assert [int(hit) for _, _, hit in numbers] == hits.tolist()
    assert page.locator("#histogram .radius").count() == 1


def test_true_neighbours_are_marked_and_counted(shown, collections):
    page = shown("?id=24&scoring=hamming").page
    expect(page.locator("#summary")).to_contain_text("recall")
    true = set(collections["digits"].search_ids([24], 10, rerank=1797).ids[0])
    marks = [text == "✓" for text in page.locator(".rows .truth").all_inner_texts()]
    assert marks == [name in true for name in found(page)]
    assert 0 < sum(marks) < 10
    expect(page.locator("#summary")).to_contain_text(f"{sum(marks)} of 10 true · recall {10 * sum(marks)} %")
    expect(page.locator("#status")).to_contain_text(f"recall {10 * sum(marks)} %")
    assert page.locator(".found").first.get_attribute("aria-label").endswith("true neighbour")


def test_switches_change_the_answer(shown, collections):
    page = shown("?id=24").page
    digits = collections["digits"]
    for scoring in ("Weighted", "Asymmetric", "Hamming"):
        page.get_by_role("radio", name=scoring).check()
        expect_answer(page, digits, 24, scoring=scoring.lower())
    page.locator("#rerank").check()
    expect_answer(page, digits, 24, rerank=100)
    page.locator("#candidates").fill("30")
    page.keyboard.press("Tab")
    expect_answer(page, digits, 24, rerank=30)
    page.locator("#rerank").uncheck()
    page.locator("#k").fill("3")
    page.keyboard.press("Enter")
    expect_answer(page, digits, 24, k=3, scoring="hamming")


def test_only_what_the_collection_offers_can_be_chosen(shown, collections):
    page = shown().page
    page.locator("#collection").select_option("wines")
    expect(page.locator("#neighbours-title")).to_have_text("Neighbours of wine-1")
    expect(page.locator("#scorings")).to_be_hidden()
    expect(page.locator("#reranking")).to_be_hidden()
    expect(page.locator("#kind")).to_be_hidden()
    answer = collections["wines"].search_ids(["wine-1"], 10)
    expect(page.locator(".found .name")).to_have_text(list(answer.ids[0]))  # a cultivar is no title, so that the id is
    assert page.locator(".card .name").first.inner_text() == "wine-1"
    assert "alcohol 14.23" in page.locator(".card").first.inner_text()


def test_radius_leaves_out_and_says_when_nothing_is_left(shown, collections):
    page = shown("?id=24").page
    middle = int(np.median(collections["digits"].search_ids([24], 10).distances))
    within = int((collections["digits"].search_ids([24], 10).distances <= middle).sum())
    page.locator("#radius").fill(str(middle))
    page.keyboard.press("Enter")
    expect(page.locator(".found")).to_have_count(within)
    page.locator("#radius").fill("0")
    page.keyboard.press("Enter")
    expect(page.locator("#found-note")).to_contain_text("No neighbour within the radius 0")
    page.locator("#radius").fill("")
    page.keyboard.press("Enter")
    expect(page.locator(".found")).to_have_count(10)


def test_impossible_numbers_are_refused_in_place(shown):
    page = shown("?id=24&k=4").page
    page.locator("#k").fill("0")
    page.keyboard.press("Tab")
    expect(page.locator("#k-error")).not_to_be_empty()
    expect(page.locator("#k")).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".found")).to_have_count(4)


def test_ids_are_typed_and_unknown_ones_are_refused_in_place(shown, collections):
    opened = shown()
    page = opened.page
    page.get_by_label("Item id").fill("1000")
    page.keyboard.press("Enter")
    expect_answer(page, collections["digits"], 1000)
    opened.expected.add("404")
    page.get_by_label("Item id").fill("nobody")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#query-error")).to_contain_text("nobody")
    expect(page.locator("#query")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Item id").fill("5")
    page.keyboard.press("Enter")
    expect_answer(page, collections["digits"], 5)
    expect(page.locator("#query-error")).to_be_empty()


def test_text_is_searched_for_where_there_is_an_encoder(visit, collections):
    vectors = collections["digits"].get([3])[0].vector

    def encoder(texts):
        return np.stack([vectors * len(text) / 5 for text in texts])

    with serving({"digits": collections["digits"]}, Settings(text_encoder=encoder)) as client:
        page = visit(f"http://127.0.0.1:{client.port}").page
        ready(page)
        page.get_by_label("Search by").select_option("text")
        page.get_by_label("Text", exact=True).fill("three")
        page.keyboard.press("Enter")
        expect(page.locator("#neighbours-title")).to_have_text("Neighbours of a text")
        expect(page.locator(".found .id").first).to_have_text("3")
        expect(page).to_have_url(re.compile("text=three"))
        page.reload()
        expect(page.locator(".found .id").first).to_have_text("3")
        expect(page.locator("#kind")).to_have_value("text")


def test_a_text_finds_items_of_another_view(visit):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(60, 4))
    pictures, texts = ((latent @ rng.normal(size=(4, d))).astype(np.float32) for d in (7, 5))
    hasher = CCAITQ(n_bits=32, random_state=0).fit({"picture": pictures, "text": texts})
    with Collection.create(":memory:", hasher) as items:
        items.add(pictures, view="picture")
        wanted = items.search(texts[7:8], 3, view="text").ids[0]
        settings = Settings(text_encoder=lambda typed: np.stack([texts[int(text)] for text in typed]))
        with serving({"items": items}, settings) as client:
            page = visit(f"http://127.0.0.1:{client.port}").page
            ready(page)
            expect(page.locator("#view")).to_be_hidden()
            page.get_by_label("Search by").select_option("text")
            expect(page.get_by_label("View of the text")).to_have_value("text")
            page.get_by_label("Text", exact=True).fill("7")
            page.keyboard.press("Enter")
            for place in range(3):
                expect(page.locator("button.found .name").nth(place)).to_have_text(str(wanted[place]))
            expect(page).to_have_url(re.compile("view=text"))
            page.reload()
            expect(page.locator("button.found .name").first).to_have_text(str(wanted[0]))


def test_recall_by_candidates_is_what_re_ranking_them_finds(shown, collections):
    page, digits = shown("?id=17&scoring=hamming").page, collections["digits"]
    expect(page.locator("#recall-view")).to_be_visible()
    assert page.locator("#recall svg").count() == 0  # folded: nothing is asked for
    page.locator("#recall-view summary").click()
    expect(page.locator("#recall svg")).to_be_visible()
    truth = {*digits.search_ids([17], 10, rerank=len(digits), scoring="hamming").ids[0]}
    for n in (10, 100, 1000):
        order = digits.search_ids([17], n, rerank=0, scoring="hamming").ids[0]
        share = round(len(truth.intersection(order)) / 10 * 100)
        expect(page.locator("#recall figcaption")).to_contain_text(f"{n:,}: {share} %")
    page.locator(".found").first.click()
    expect(page.locator("#neighbours-title")).not_to_have_text("Neighbours of 17")
    expect(page.locator("#recall svg")).to_be_visible()


def test_recall_by_candidates_needs_codes_and_vectors(shown):
    expect(shown("?collection=wines").page.locator("#recall-view")).to_be_hidden()


def test_without_codes_texts_have_the_width_of_the_page(visit):
    """As in a collection without a hasher, the usual one: nothing is kept free for codes that do not exist."""
    rng = np.random.default_rng(0)
    sentence = "a sentence that is too long for the narrow column beside the codes "
    with Collection.create(":memory:", metric="cosine") as items:
        items.add(rng.normal(size=(60, 4)), metadata=[{"text": f"{i} {sentence}", "price": i} for i in range(60)])
        with serving({"items": items}, Settings()) as client:
            for width, share in ((1280, 0.4), (390, 0.5)):
                page = visit(f"http://127.0.0.1:{client.port}/?id=3", width, 800).page
                expect(page.locator("#summary")).to_contain_text("recall 100 %")
                assert page.locator(".found").first.bounding_box()["width"] > share * width
                expect(page.locator("#histogram")).to_be_hidden()
                expect(page.locator("#where")).to_have_attribute("placeholder", "price = 0")
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                page.locator(".rows .row").first.hover()
                page.locator(".steer button").first.click()
                expect(page.locator("#neighbours-title")).to_have_text("Neighbours of examples")

"""Filters, and addresses that hold all that is shown."""

from __future__ import annotations

from .helpers import expect, expect_answer, ready


def test_filter_holds_for_items_and_neighbours(shown, collections):
    page = shown("?id=3").page
    page.locator("#where").fill("label in (1, 7)")
    page.keyboard.press("Enter")
    expect_answer(page, collections["digits"], 3, where="label in (1, 7)")
    expect(page.locator("#range")).to_have_text("1–48 of 361")
    assert set(page.locator(".card .name").all_inner_texts()) == {"1", "7"}
    page.get_by_role("button", name="Clear the filter").click()
    expect_answer(page, collections["digits"], 3)
    page.locator("#where").fill("label > 9")
    page.keyboard.press("Enter")
    expect(page.locator("#items-note")).to_have_text("No item passes the filter.")
    expect(page.locator("#found-note")).to_have_text("No other item passes the filter.")


def test_mistake_in_a_filter_is_shown_where_it_is(shown, collections):
    opened = shown("?id=3")
    page = opened.page
    opened.expected.add("422")
    page.locator("#where").fill("label = '😀' and or")
    page.keyboard.press("Enter")
    expect(page.locator("#where-error mark")).to_have_text("o")
    expect(page.locator("#where-error")).to_contain_text("character 17: expected the name of a field")
    expect(page.locator("#where")).to_have_attribute("aria-invalid", "true")
    assert page.evaluate("getSelection().toString()") == "o"
    assert page.locator("#answer").evaluate("node => getComputedStyle(node).opacity") == "0.4"
    opened.screenshot("page-mistake.png")
    page.locator("#where").fill("label = 3")
    page.keyboard.press("Enter")
    expect_answer(page, collections["digits"], 3, where="label = 3")
    expect(page.locator("#where-error")).to_be_empty()
    assert page.locator("#answer").evaluate("node => getComputedStyle(node).opacity") == "1"


def test_address_holds_everything_and_can_be_shared(shown, collections):
    query = "?collection=digits&id=41&k=5&radius=20&where=label+%3E+2&scoring=weighted&rerank=40&offset=96"
    page = shown(query).page
    options = {"radius": 20, "where": "label > 2", "scoring": "weighted", "rerank": 40}
    expect_answer(page, collections["digits"], 41, k=5, **options)
    for name, value in {"query": "41", "k": "5", "radius": "20", "where": "label > 2", "candidates": "40"}.items():
        expect(page.locator(f"#{name}")).to_have_value(value)
    expect(page.get_by_role("radio", name="Weighted")).to_be_checked()
    expect(page.locator("#range")).to_contain_text("97–144")
    page.locator(".found").first.click()
    expect(page.locator("#neighbours-title")).not_to_have_text("Neighbours of 41")
    ready(page)
    before = page.locator(".found .id").all_inner_texts()
    again = shown(page.url.rpartition("/")[2]).page
    expect(again.locator(".found .id")).to_have_text(before)
    assert again.url == page.url


def test_nonsense_in_an_address_is_as_if_it_were_not_there(shown, collections):
    page = shown("?k=-3&radius=much&scoring=magic&rerank=0&offset=x&id=3&type=?").page
    expect_answer(page, collections["digits"], 3)


def test_back_and_forward_go_through_the_searches(shown, collections):
    page = shown("?id=3").page
    page.locator(".card").nth(8).click()
    expect_answer(page, collections["digits"], 8)
    page.get_by_role("radio", name="Weighted").check()
    expect_answer(page, collections["digits"], 8, scoring="weighted")
    page.go_back()
    expect_answer(page, collections["digits"], 8)
    expect(page.get_by_role("radio", name="Auto")).to_be_checked()
    page.go_back()
    expect_answer(page, collections["digits"], 3)
    page.go_forward()
    expect_answer(page, collections["digits"], 8)
    expect(page.locator("#query")).to_have_value("8")

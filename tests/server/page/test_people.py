"""The page for everybody: by keyboard, with a screen reader, light or dark, on a phone."""

from __future__ import annotations

import re

import pytest

from .helpers import NO_PICTURE, expect, expect_answer, found
from .test_files import contrast


def test_everything_can_be_done_with_the_keyboard(shown, collections):
    opened = shown()
    page = opened.page
    digits = collections["digits"]
    focus_on(page, "item 0")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    columns = page.evaluate("getComputedStyle(document.querySelector('#items')).gridTemplateColumns.split(' ').length")
    expect_answer(page, digits, 2 + columns)
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("PageDown")
    expect(page.locator("#range")).to_have_text("49–96 of 1,797")
    expect(page.locator(":focus")).to_have_accessible_name(re.compile("^item 48,"))
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect_answer(page, digits, 95)
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_class("found")
    page.keyboard.press("ArrowDown")
    second = found(page)[1]
    page.keyboard.press("Enter")
    expect_answer(page, digits, second)
    expect(page.locator(":focus")).to_have_class("found")
    page.keyboard.press("/")
    expect(page.locator("#where")).to_be_focused()
    page.keyboard.type("label = 4 or label = 9")
    page.keyboard.press("Enter")
    expect_answer(page, digits, second, where="label = 4 or label = 9")


def focus_on(page, name, presses=20):
    """Press the tab key until something of that name has the focus."""
    for _ in range(presses):
        page.keyboard.press("Tab")
        if (page.locator(":focus").get_attribute("aria-label") or "").startswith(name):
            return
    raise AssertionError(f"the tab key does not lead to {name}")


def test_arrow_keys_choose_a_distance_and_keep_the_focus(shown, collections):
    page = shown("?id=3").page
    page.get_by_role("radio", name="Hamming").focus()
    page.keyboard.press("ArrowRight")
    expect_answer(page, collections["digits"], 3, scoring="weighted")
    expect(page.get_by_role("radio", name="Weighted")).to_be_focused()


def test_controls_have_names_and_parts_are_landmarks(shown):
    page = shown("?id=3").page
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    nodes = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node["ignored"]]
    roles = [role for role, _ in nodes]
    for role in ("banner", "search", "main", "navigation", "radiogroup", "status", "figure"):
        assert roles.count(role) == 1, role
    assert ("region", "Items") in nodes
    assert ("region", "Neighbours of 3") in nodes
    assert next(name for role, name in nodes if role == "heading") == "rankhash"
    asking = {"button", "textbox", "combobox", "radio", "checkbox", "spinbutton", "image", "link"}
    assert len([role for role in roles if role in asking]) > 70
    assert [node for node in nodes if node[0] in asking and not node[1].strip()] == []


SHOWN = ["#facts", ".card .name", ".card .id", "#summary", "figcaption", ".found .id", ".distance b", ".legend", "dt"]
SHOWN += [".segments label:has(:checked) span", "#range", ".query button", "#query-label", ".axis", ".truth.yes"]

COLOURS = """selector => {
  const node = document.querySelector(selector), style = getComputedStyle(node);
  let back = node;
  while (getComputedStyle(back).backgroundColor === "rgba(0, 0, 0, 0)") back = back.parentElement;
  return [node instanceof SVGElement ? style.fill : style.color, getComputedStyle(back).backgroundColor];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(shown, scheme):
    opened = shown("?id=24&scoring=weighted", 1360, 860, color_scheme=scheme)
    opened.page.wait_for_function("[...document.images].every(image => image.complete)")
    expect(opened.page.locator(".truth.yes").first).to_be_visible()
    for selector in SHOWN:
        ink, paper = (as_hex(colour) for colour in opened.page.evaluate(COLOURS, selector))
        assert contrast(ink, paper) >= 4.5, (selector, ink, paper)
    dark = contrast(as_hex(opened.page.evaluate(COLOURS, "body")[1]), "#000000") < 2
    assert dark == (scheme == "dark")
    assert opened.screenshot(f"page-{scheme}.png").stat().st_size > 20_000


def as_hex(colour):
    return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", colour)[:3])


@pytest.mark.parametrize("collection", ["digits", "wines", "hostile"])
def test_page_fits_a_phone(shown, collection):
    phone = {"has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    opened = shown(f"?collection={collection}", 360, 740, NO_PICTURE, **phone)
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 360
    beyond = "[...document.querySelectorAll('body *')].filter(node => node.getBoundingClientRect().right > 361).length"
    assert opened.page.evaluate(beyond.replace("body *", "input, button, select, .row, svg")) == 0
    opened.screenshot(f"page-phone-{collection}.png", full_page=True)


def test_query_and_all_neighbours_are_on_one_screen(shown):
    page = shown("?id=24", 1360, 860).page
    bottom = page.locator(".row").last.evaluate("node => node.getBoundingClientRect().bottom")
    assert bottom <= 860
    assert page.evaluate("document.documentElement.scrollHeight") <= 860

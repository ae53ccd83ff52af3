"""The page in a real browser: what it shows is what the collection answers, for everybody and on every screen.

After each test the page must not have complained, broken its policy, or asked another host (``browser.visit``).
"""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from rankhash import LSH, Collection
from rankhash.cli import _demo_collections
from rankhash.evaluation.images import data_url, png
from rankhash.server import Settings

from .live import serving
from .test_page_files import contrast

playwright = pytest.importorskip("playwright.sync_api", reason="looks at the page in a browser through Playwright")
expect = playwright.expect
expect.set_options(timeout=15_000)

LARGE = 2**62 + 1
EVIL = "<img src=x onerror=\"document.title='taken over'\"><script>document.title='taken over'</script>"
NO_PICTURE = ("404",)
"""What Chromium says of items that name a picture which the server does not have"""
PICTURE = data_url(np.eye(8))
HOSTILE = {
    EVIL: {"name": EVIL, EVIL: EVIL, "image": EVIL},
    "7": {"name": "seven as text", "image": "javascript:alert(1)"},
    7: {"name": "seven", "image": "https://example.org/picture.png"},
    LARGE: {"name": "large", "n": LARGE, "image": "data:image/svg+xml,<svg onload='alert(1)'/>"},
    "__proto__": json.loads('{"__proto__": {"polluted": true}, "constructor": "x", "toString": null}'),
    "bare": None,
    "long" * 60: {"title": "w" * 3000, "nested": {"a": [1, {"b": None}]}, "\u202eright to left": "\u202eabc"},
    "a/b?c#d%e": {"name": "signs of addresses", "image": PICTURE},
}


@pytest.fixture(scope="module")
def collections():
    made = _demo_collections.make()
    vectors = np.random.default_rng(0).normal(size=(len(HOSTILE), 12)).astype(np.float32)
    hasher = LSH(n_symbols=600, random_state=0).fit(vectors)
    made["hostile"] = Collection.create(":memory:", hasher)
    made["hostile"].add(vectors, ids=list(HOSTILE), metadata=list(HOSTILE.values()))
    made["empty"] = Collection.create(":memory:", hasher)
    yield made
    for collection in made.values():
        collection.close()


@pytest.fixture(scope="module")
def address(collections):
    with serving(collections) as address:
        yield address + "/"


@pytest.fixture
def shown(visit, address):
    """Opens the page with a query and waits for the answer."""

    def show(query="", width=1280, height=800, expected=(), **options):
        opened = visit(address + query, width, height, expected, **options)
        ready(opened.page)
        return opened

    return show


def ready(page):
    """Wait until the page has its answers; the histogram is the last of them."""
    expect(page.locator("#neighbours")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#histogram svg")).to_be_visible()


def found(page):
    return [int(name) for name in page.locator(".found .id").all_inner_texts()]


def expect_answer(page, collection, name, k=10, **options):
    """The rows of the page are what the collection finds."""
    answer = collection.search_ids([name], k, **options)
    expect(page.locator(".found .id")).to_have_text([str(other) for other in answer.ids[0]])
    shown = [float(text.replace(",", "")) for text in page.locator(".rows .distance b").all_inner_texts()]
    np.testing.assert_allclose(shown, answer.distances[0], rtol=6e-4)


# -- searching -----------------------------------------------------------------------------------------------------


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
    page = shown("?id=17&radius=5").page
    titles = page.locator("#histogram title").all_text_contents()
    numbers = [re.fullmatch(r"distance (\d+): ([\d,]+) items?, (\d+) found", title).groups() for title in titles]
    assert [int(distance) for distance, _, _ in numbers] == list(range(33))
    assert sum(int(n.replace(",", "")) for _, n, _ in numbers) == 1797
    distances = collections["digits"].search_ids([17], 10, radius=5).distances[0]
    hits = np.bincount(distances[np.isfinite(distances)].astype(int), minlength=33)
    assert [int(hit) for _, _, hit in numbers] == hits.tolist()
    assert page.locator("#histogram .radius").count() == 1


def test_true_neighbours_are_marked_and_counted(shown, collections):
    page = shown("?id=24").page
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
    expect_answer(page, digits, 24, k=3)


def test_only_what_the_collection_offers_can_be_chosen(shown, collections):
    page = shown().page
    page.locator("#collection").select_option("wines")
    expect(page.locator("#neighbours-title")).to_have_text("Neighbours of wine-1")
    expect(page.locator("#scorings")).to_be_hidden()
    expect(page.locator("#reranking")).to_be_hidden()
    expect(page.locator("#kind")).to_be_hidden()
    answer = collections["wines"].search_ids(["wine-1"], 10)
    expect(page.locator(".found .id")).to_have_text(list(answer.ids[0]))
    assert "cultivar 1" in page.locator(".card").first.inner_text()


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

    with serving({"digits": collections["digits"]}, Settings(text_encoder=encoder)) as address:
        page = visit(address).page
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


# -- the filter ----------------------------------------------------------------------------------------------------


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


# -- the address ---------------------------------------------------------------------------------------------------


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
    expect(page.get_by_role("radio", name="Hamming")).to_be_checked()
    page.go_back()
    expect_answer(page, collections["digits"], 3)
    page.go_forward()
    expect_answer(page, collections["digits"], 8)
    expect(page.locator("#query")).to_have_value("8")


# -- for everybody -------------------------------------------------------------------------------------------------


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
    assert [name for role, name in nodes if role == "heading"][0] == "rankhash"
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


# -- what can go wrong ---------------------------------------------------------------------------------------------


def test_metadata_is_text_whatever_it_says(shown):
    opened = shown("?collection=hostile", expected=NO_PICTURE)
    page = opened.page
    for name in HOSTILE:
        place = list(HOSTILE).index(name)
        page.locator(".card").nth(place).click()
        expect(page.locator("#neighbours-title")).to_have_text(f"Neighbours of {name}")
        expect(page.locator(".found")).to_have_count(len(HOSTILE) - 1)
    assert "taken over" not in page.title() or EVIL[:8] in page.title()
    assert page.locator("main script, main iframe, main object, main img[onerror], main svg[onload]").count() == 0
    assert page.evaluate("({}).polluted") is None
    assert page.locator(".card").first.inner_text().startswith("<img src=x onerror")
    sources = page.evaluate("[...document.images].map(image => image.src)")
    assert all(source.startswith(("data:image/png;base64,", opened.page.url.split("?")[0])) for source in sources)
    opened.screenshot("page-hostile.png")


def test_ids_of_every_kind_survive_the_address(shown, collections):
    page = shown("?collection=hostile", expected=NO_PICTURE).page
    for name in ("7", 7, LARGE, "a/b?c#d%e", EVIL, "__proto__"):
        page.locator(".card").nth(list(HOSTILE).index(name)).click()
        expect(page.locator("#neighbours-title")).to_have_text(f"Neighbours of {name}")
        page.reload()
        expect(page.locator("#neighbours-title")).to_have_text(f"Neighbours of {name}")
        others = [str(other) for other in collections["hostile"].search_ids([name], len(HOSTILE) - 1).ids[0]]
        labels = page.locator(".found").evaluate_all("nodes => nodes.map(node => node.getAttribute('aria-label'))")
        assert all(f"item {other}" in label for other, label in zip(others, labels, strict=True))
        expect(page.locator(".card[aria-current]")).to_have_count(1)


def test_late_answers_are_dropped(shown, collections):
    opened = shown("?id=3")
    page = opened.page
    held = []

    def hold(route):
        if '"id":8,' in route.request.post_data:
            held.append(route)
        else:
            route.continue_()

    page.route("**/search", hold)
    page.locator(".card").nth(8).click()
    page.wait_for_function("document.querySelector('#neighbours').getAttribute('aria-busy') === 'true'")
    page.locator(".card").nth(12).click()
    expect_answer(page, collections["digits"], 12)
    assert len(held) == 1
    held[0].fulfill(status=500, body="")
    page.wait_for_timeout(100)
    expect_answer(page, collections["digits"], 12)
    expect(page.locator("#neighbours")).to_have_attribute("aria-busy", "false")


def test_page_says_that_the_server_is_gone_and_tries_again(shown, collections):
    opened = shown("?id=3")
    page = opened.page
    opened.expected.add("ERR_FAILED")
    page.route("**/v1/**", lambda route: route.abort())
    page.locator(".card").nth(8).click()
    expect(page.locator("#found-note")).to_contain_text("The server does not answer. Is it still running?")
    page.unroute("**/v1/**")
    page.get_by_role("button", name="Try again").click()
    expect_answer(page, collections["digits"], 8)


def test_an_empty_collection_says_so(visit, address):
    page = visit(address + "?collection=empty").page
    expect(page.locator("#items-note")).to_contain_text("This collection is empty.")
    expect(page.locator("#found-note")).to_have_text("There is nothing to search for.")


def test_an_unknown_collection_says_so(visit, address):
    page = visit(address + "?collection=nothing").page
    expect(page.locator("#found-note")).to_have_text("There is no collection nothing.")


def test_token_is_asked_for_and_pictures_of_a_folder_are_shown(visit, collections, tmp_path):
    (tmp_path / "one.png").write_bytes(png(np.zeros((9, 9), np.uint8)))
    hasher = collections["hostile"].hasher
    with Collection.create(":memory:", hasher) as pictures:
        pictures.add(np.eye(12)[:2], ids=["a b", "c"], metadata=[{"image": "one.png"}, {"image": "two.png"}])
        settings = Settings(host="0.0.0.0", token="a token of many letters", images=str(tmp_path))
        with serving({"pictures": pictures}, settings) as address:
            opened = visit(address, expected=("401", "404"))
            for token in ("wrong", settings.token):
                opened.page.get_by_label("Token").last.fill(token)
                opened.page.get_by_role("button", name="Open").click()
                if token == "wrong":
                    expect(opened.page.locator("dialog")).to_contain_text("the token is not that of the server")
            ready(opened.page)
            expect(opened.page.locator(".card img")).to_have_count(1)
            assert opened.page.locator(".card img").evaluate("image => image.naturalWidth") == 9
            expect(opened.page.locator(".card .missing")).to_have_count(1)

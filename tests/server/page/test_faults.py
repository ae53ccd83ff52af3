"""Hostile metadata, late answers, servers that are gone or closed."""

from __future__ import annotations

import numpy as np

from rankhash import Collection
from rankhash.evaluation.images import png
from rankhash.server import Settings

from ..serving import serving
from .helpers import EVIL, HOSTILE, LARGE, NO_PICTURE, expect, expect_answer, ready


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
    for name in ("7", 7, LARGE, "a/b?c#d%e"):
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
        with serving({"pictures": pictures}, settings) as client:
            opened = visit(f"http://127.0.0.1:{client.port}", expected=("401", "404"))
            for token in ("wrong", settings.token):
                opened.page.get_by_label("Token").last.fill(token)
                opened.page.get_by_role("button", name="Open").click()
                if token == "wrong":
                    expect(opened.page.locator("dialog")).to_contain_text("the token is wrong")
            ready(opened.page)
            expect(opened.page.locator(".card img")).to_have_count(1)
            assert opened.page.locator(".card img").evaluate("image => image.naturalWidth") == 9
            expect(opened.page.locator(".card .missing")).to_have_count(1)

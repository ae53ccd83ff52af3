"""The view of near-duplicates: groups, keys to keep and drop, deletion with the token."""

from __future__ import annotations

import numpy as np
import pytest

from rankhash import LSH, Collection
from rankhash.server import Settings

from ..serving import TOKEN, serving
from .helpers import EVIL, PICTURE, expect


@pytest.fixture
def copies():
    vectors = np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32)
    vectors[[3, 7]], vectors[[8, 9, 11]] = vectors[0], vectors[5]
    metadata = [{"title": f"title {i}", "image": PICTURE} for i in range(40)]
    metadata[7]["title"] = EVIL
    with Collection.create(":memory:", LSH(n_symbols=64, random_state=0).fit(vectors)) as collection:
        collection.add(vectors, metadata=metadata)
        yield collection


def pressed(page):
    return [button.get_attribute("aria-pressed") == "true" for button in page.locator("#groups button").all()]


def test_groups_are_shown_and_found_from_the_search(shown, visit, copies):
    with serving({"copies": copies}, Settings()) as client:
        page = visit(f"http://127.0.0.1:{client.port}/", 1280, 800).page
        page.get_by_role("button", name="Duplicates").click()
        expect(page.locator("#groups > li")).to_have_count(2)
        expect(page).to_have_url(f"http://127.0.0.1:{client.port}/?collection=copies&id=0&duplicates=3")
        expect(page.locator("#groups .name")).to_have_text(
            ["title 0", "title 3", EVIL, "title 5", "title 8", "title 9", "title 11"]
        )
        assert page.locator("#groups img").count() == 7
        assert pressed(page) == [False, True, True, False, True, True, True]
        expect(page.locator("#groups-range")).to_have_text("1–2 of 2 groups with 7 items")
        expect(page.locator("#drop")).to_be_disabled()  # a server without a token changes nothing
        expect(page.locator("#drop-note")).to_be_visible()
        page.locator("#within").fill("64")
        page.get_by_role("button", name="Find").click()
        expect(page.locator("#groups > li")).to_have_count(1)
        page.get_by_role("button", name="Duplicates").click()
        expect(page.locator("#neighbours-title")).to_have_text("Neighbours of 0")
        expect(page.locator("#duplicates")).to_be_hidden()


def test_keys_keep_and_drop_and_the_list_is_deleted_with_the_token(visit, copies):
    with serving({"copies": copies}, Settings(writable=True, token=TOKEN)) as client:
        page = visit(f"http://127.0.0.1:{client.port}/?duplicates=0", 1280, 800, expected=("401",)).page
        expect(page.locator("#groups > li")).to_have_count(2)
        page.locator("#groups button").first.focus()
        page.keyboard.press("d")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("o")
        assert pressed(page) == [True, False, True, False, True, True, True]
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("k")
        assert pressed(page) == [True, False, True, False, True, True, False]
        expect(page.locator("#marked")).to_have_text("4 items of 7 seen to drop")
        page.locator("#drop").click()
        expect(page.locator("dialog li")).to_have_text(["7", "8", "9", "0"])
        page.get_by_role("button", name="Cancel").click()
        assert len(copies) == 40
        page.locator("#drop").click()
        page.get_by_role("button", name="Delete", exact=True).click()
        page.get_by_label("Token", exact=True).locator("input[type=password]").fill(TOKEN)
        page.get_by_role("button", name="Open").click()
        expect(page.locator("#groups > li")).to_have_count(2)
        assert len(copies) == 40  # the token was asked for; nothing is deleted behind it
        page.locator("#drop").click()
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.locator("#groups-note")).to_have_text("No two items are within 0 of each other.")
        assert len(copies) == 35
        assert {3, 7, 8, 9, 11}.isdisjoint(copies.ids())
        expect(page.locator("#facts")).to_contain_text("35 items")
